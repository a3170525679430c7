//! One name for each provider, whatever a source calls it.

/// As the sources name them, and as the book does.
const PROVIDERS: [(&str, &str); 12] = [
    ("amazon-bedrock", "aws"),
    ("bedrock", "aws"),
    ("bedrock_converse", "aws"),
    ("cohere_chat", "cohere"),
    ("fireworks_ai", "fireworks"),
    ("fireworks-ai", "fireworks"),
    ("gemini", "google"),
    ("text-completion-openai", "openai"),
    ("together_ai", "together"),
    ("togetherai", "together"),
    ("xai", "x-ai"),
    ("vertex_ai-language-models", "google-vertex"),
];

/// Whose models are at an address: the host's name, and the provider's in the book.
const HOSTS: [(&str, &str); 14] = [
    ("api.anthropic.com", "anthropic"),
    ("api.cerebras.ai", "cerebras"),
    ("api.cohere.com", "cohere"),
    ("api.deepseek.com", "deepseek"),
    ("api.fireworks.ai", "fireworks"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral"),
    ("api.moonshot.ai", "moonshotai"),
    ("api.openai.com", "openai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.together.xyz", "together"),
    ("api.x.ai", "x-ai"),
    ("generativelanguage.googleapis.com", "google"),
    ("openrouter.ai", "openrouter"),
];

/// Who bills for what a backend at this address serves; none where that is not known for
/// certain, as for any server of one's own.
pub fn provider_at(base_url: &str) -> Option<&'static str> {
    let host = base_url.strip_prefix("https://")?.split(['/', ':']).next()?;
    HOSTS.iter().find(|(it, _)| host.eq_ignore_ascii_case(it)).map(|(_, provider)| *provider)
}

/// The book's name of a provider.
pub(super) fn provider(name: &str) -> &str {
    let known = PROVIDERS.iter().find(|(theirs, _)| *theirs == name);
    known.map_or(name, |(_, ours)| ours)
}
