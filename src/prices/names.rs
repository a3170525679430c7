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

/// The book's name of a provider.
pub(super) fn provider(name: &str) -> &str {
    let known = PROVIDERS.iter().find(|(theirs, _)| *theirs == name);
    known.map_or(name, |(_, ours)| ours)
}
