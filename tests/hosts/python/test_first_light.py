"""One bounded sampling call, from a real MCP host to a ledger entry.

Host (this) <- reference server: `sampling/createMessage`; host -> broker: gRPC."""

import unittest

import grpc
from mcp import types

import bursar_host
import everything
from broker import dev
from stubs import admin, admin_grpc, common, envelope, envelope_grpc, ledger, ledger_grpc

ANSWER = "The quarter went well."
PROMPT = f'Summarise the quarter. @script {{"text": "{ANSWER}"}}'


def nanos(money):
    return money.units * 1_000_000_000 + money.nanos


class FirstLight(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = cls.enterClassContext(dev())

    async def asyncSetUp(self):
        address = self.ready["grpc"].split("://")[1]
        self.channel = grpc.aio.insecure_channel(address, options=bursar_host.CHANNEL_OPTIONS)
        self.addAsyncCleanup(self.channel.close)
        self.envelopes = envelope_grpc.EnvelopeServiceStub(self.channel)
        self.ledger = ledger_grpc.LedgerServiceStub(self.channel)

    def key(self, role):
        return (("authorization", f"Bearer {self.ready[role + '_key']}"),)

    def host(self, server=None, **more):
        return bursar_host.Host(
            self.channel, key=self.ready["host_key"], user=self.ready["user"],
            server=server or self.ready["server"], **more)

    async def open(self, calls):
        request = envelope.OpenEnvelopeRequest(
            user=self.ready["user"], server=self.ready["server"],
            limits=envelope.EnvelopeLimits(calls=calls))
        opened = await self.envelopes.OpenEnvelope(request, metadata=self.key("host"))
        return opened.name

    async def entries(self, **which):
        request = ledger.ListEntriesRequest(**which)
        listed = await self.ledger.ListEntries(request, metadata=self.key("finance"))
        return list(listed.entries)

    async def left(self, name):
        request = envelope.GetEnvelopeRequest(name=name)
        return (await self.envelopes.GetEnvelope(request, metadata=self.key("host"))).left

    async def test_the_answer_arrives_and_is_booked(self):
        name = await self.open(calls=5)
        host = self.host(envelope=name)
        async with everything.session(host) as session:
            result, sampled = await everything.sample(session, host, PROMPT)
        self.assertFalse(result["isError"])
        self.assertEqual(sampled["content"], {"type": "text", "text": ANSWER})
        self.assertEqual(sampled["role"], "assistant")
        self.assertEqual(sampled["stopReason"], "endTurn")
        self.assertTrue(sampled["model"])
        self.assertIn("dev.bursar/budget", sampled["_meta"])

        self.assertEqual(host.reply.outcome, common.OUTCOME_COMPLETE)
        self.assertEqual(host.reply.envelope, name)
        charge = host.reply.charge.amount
        self.assertGreater(nanos(charge), 0)
        self.assertEqual(host.reply.left.calls, 4)
        self.assertEqual((await self.left(name)).calls, 4)

        (entry,) = await self.entries(envelope=name)
        self.assertEqual(entry.kind, ledger.ENTRY_KIND_SETTLE)
        self.assertEqual(entry.charge, charge)
        self.assertEqual((entry.user, entry.server), (self.ready["user"], self.ready["server"]))
        self.assertEqual(entry.call, host.reply.call)
        self.assertIn(entry.model, (host.reply.route.model, host.reply.route.alias))
        self.assertGreater(entry.usage.output, 0)
        self.assertGreaterEqual(len(entry.postings), 2)
        self.assertEqual(sum(nanos(it.amount) for it in entry.postings), 0)

    async def test_calls_of_one_conversation_share_an_envelope(self):
        host = self.host(conversation="first-light")
        async with everything.session(host) as session:
            await everything.sample(session, host, PROMPT)
            first = host.reply
            await everything.sample(session, host, PROMPT)
        self.assertTrue(first.envelope)
        self.assertEqual(host.reply.envelope, first.envelope)
        self.assertEqual(host.reply.left.calls, first.left.calls - 1)
        self.assertLess(nanos(host.reply.left.money), nanos(first.left.money))

    async def test_a_spent_envelope_gives_an_empty_result_and_no_broken_tool(self):
        name = await self.open(calls=1)
        host = self.host(envelope=name)
        async with everything.session(host) as session:
            _, sampled = await everything.sample(session, host, PROMPT)
            self.assertEqual(sampled["content"]["text"], ANSWER)
            result, sampled = await everything.sample(session, host, PROMPT)
        self.assertFalse(result["isError"])
        self.assertEqual(sampled["content"], {"type": "text", "text": ""})
        self.assertEqual(sampled["stopReason"], "budgetExhausted")
        self.assertEqual(host.reply.outcome, common.OUTCOME_EXHAUSTED)
        self.assertEqual(nanos(host.reply.charge.amount), 0)
        self.assertEqual((await self.left(name)).calls, 0)
        self.assertEqual(len(await self.entries(envelope=name)), 1)

    async def test_the_user_lets_a_spent_envelope_go_on(self):
        await self.grant("extended", calls=1)
        asked = []

        async def ask(params, server):
            asked.append((params, server))
            return {"action": "accept", "content": {"calls": 1}} if len(asked) == 1 else {
                "action": "decline"}

        host = self.host(server="extended", conversation="extended", ask=ask)
        async with everything.session(host) as session:
            answers = []
            for _ in range(3):
                result, sampled = await everything.sample(session, host, PROMPT)
                self.assertFalse(result["isError"])
                answers.append(sampled["content"]["text"])
        self.assertEqual(answers, [ANSWER, ANSWER, ""])
        self.assertEqual([server for _, server in asked], ["extended", "extended"])
        params = types.ElicitRequestFormParams.model_validate(asked[0][0])
        self.assertIn('"extended"', params.message)
        self.assertEqual(set(asked[0][0]["requestedSchema"]["properties"]), {"calls", "money"})
        self.assertEqual(host.reply.outcome, common.OUTCOME_EXHAUSTED)

    async def grant(self, server, calls):
        metadata = self.key("operator")
        stub = admin_grpc.AdminServiceStub(self.channel)
        await stub.CreateServer(admin.CreateServerRequest(server=server), metadata=metadata)
        limits = envelope.EnvelopeLimits(
            calls=calls, seconds=60, money=common.Money(nanos=500_000_000))
        extension = admin.GrantExtension(
            calls=5, money=common.Money(nanos=100_000_000), times=2)
        grant = admin.Grant(
            user=self.ready["user"], server=server, default_envelope=limits, extension=extension)
        await stub.CreateGrant(admin.CreateGrantRequest(grant=grant), metadata=metadata)

    async def test_without_a_grant_the_server_is_refused(self):
        host = self.host(server="stranger")
        async with everything.session(host) as session:
            result, _ = await everything.sample(session, host, PROMPT)
        self.assertTrue(result["isError"])
        self.assertIn(str(bursar_host.REJECTED), result["content"][0]["text"])
        self.assertEqual(host.reply.outcome, common.OUTCOME_REFUSED)
        self.assertTrue(host.reply.refusal.reason)
        self.assertFalse(host.reply.HasField("result"))

    async def test_the_ledger_proves_itself(self):
        request = ledger.VerifyLedgerRequest()
        proof = await self.ledger.VerifyLedger(request, metadata=self.key("finance"))
        self.assertEqual(list(proof.problems), [])
        self.assertTrue(proof.ok)


if __name__ == "__main__":
    unittest.main()
