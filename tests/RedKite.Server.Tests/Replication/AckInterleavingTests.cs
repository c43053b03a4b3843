using System.Globalization;
using RedKite.Server.Loops;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Tests.Loops;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// Interleavings of the real code: two loops whose clients write with replica-acks 1, a replica that acknowledges, and the loss of the role, in every order that a schedule
/// decides. The loops also stop between noting that a reply waits and looking whether it may leave. No reply is sent before its write is acknowledged, and each is sent in the end.
/// </summary>
public sealed class AckInterleavingTests
{
    private const int Schedules = 60;
    private const int StepsMax = 120;

    [Fact]
    public Task No_reply_leaves_before_its_acknowledgement_and_none_stays() => Run(opensEarly: false);

    [Fact]
    public async Task A_gate_that_opens_one_step_early_is_found() => await Assert.ThrowsAnyAsync<Xunit.Sdk.XunitException>(static () => Run(opensEarly: true));

    // A client that another one serves while its own loop does something else: the role is lost and comes back, and the new term's replicas acknowledge, at any step.
    [Fact]
    public async Task A_served_client_is_told_what_became_of_its_own_term()
    {
        var loops = new SteppedLoops();
        await using RedKiteServer server = await StartAsync(loops);
        try
        {
            ReplicaAcks acks = server.Engine.Replication.Acks;
            ReplicationStream stream = server.Parts.ReplicaStream;
            acks.Use(new SteppedAsker(server.Parts.Replicas, loops));
            SteppedClient popper = loops.Connect(), pusher = loops.Connect();
            loops.Drain();
            int failed = 0;
            for (int seed = 0; seed < Schedules; seed++)
            {
                var random = new Random(seed);
                popper.Send("BLPOP list 0");
                loops.Drain();
                AckTerm? written = null; // the term in which the push and the pop were
                long begin = stream.Offset;
                pusher.Send("RPUSH list element");
                int losesAt = random.Next(StepsMax);
                for (int step = 0; step < StepsMax; step++)
                {
                    if (step == losesAt)
                    {
                        acks.Lose();
                        acks.Begin(1);
                        acks.Advance(acks.Term!, stream.Offset);
                    }
                    else if (loops.Loops.Where(static loop => loop.HasWork).ToArray() is { Length: > 0 } ready)
                    {
                        AckTerm term = acks.Term!;
                        loops.Step(ready[random.Next(ready.Length)]);
                        if (stream.Offset > begin) written ??= term;
                    }
                }

                loops.Drain();
                bool isAcknowledged = written!.IsOpen; // a term that was lost was acknowledged only up to the writes before it
                acks.Advance(acks.Term!, stream.Offset);
                loops.Drain();
                string reply = popper.TakeReplies();
                if (isAcknowledged) Assert.StartsWith("*2", reply, StringComparison.Ordinal);
                else Assert.True(reply.StartsWith("-NOREPLICAS ", StringComparison.Ordinal), FormattableString.Invariant($"schedule {seed}: {reply.Trim()}"));
                failed += isAcknowledged ? 0 : 1;
                Assert.NotEqual("", pusher.TakeReplies());
            }

            Assert.InRange(failed, 1, Schedules - 1);
        }
        finally
        {
            loops.End();
        }
    }

    private static async Task Run(bool opensEarly)
    {
        var loops = new SteppedLoops();
        await using RedKiteServer server = await StartAsync(loops);
        try
        {
            ReplicaAcks acks = server.Engine.Replication.Acks;
            var writes = new Writes(server.Parts.ReplicaStream);
            server.Parts.ReplicaStream.Tell(writes);
            acks.Use(new SteppedAsker(server.Parts.Replicas, loops));
            SteppedClient[] clients = [loops.Connect(), loops.Connect()];
            loops.Drain();
            for (int seed = 0; seed < Schedules; seed++) RunOne(clients, seed, new Random(seed));

            void RunOne(SteppedClient[] clients, int seed, Random random)
            {
                AckTerm term = acks.Term!;
                bool isLost = false;
                long acknowledged = term.Position;
                foreach (SteppedClient client in clients) client.Send("INCR n");
                for (int left = StepsMax; left > 0; left--)
                {
                    int choice = random.Next(4);
                    if (choice == 0 && !isLost)
                    {
                        long end = server.Parts.ReplicaStream.Offset;
                        acknowledged = Math.Max(acknowledged, opensEarly ? end - 1 : term.Position + random.NextInt64(end - term.Position + 1));
                        acks.Advance(term, opensEarly ? end : acknowledged);
                    }
                    else if (choice == 1 && seed % 3 == 2 && random.Next(10) == 0)
                    {
                        acks.Lose();
                        isLost = true;
                    }
                    else if (loops.Loops.Where(static loop => loop.HasWork).ToArray() is { Length: > 0 } ready)
                    {
                        loops.Step(ready[random.Next(ready.Length)]);
                    }

                    Check();
                }

                acknowledged = isLost ? acknowledged : long.MaxValue;
                loops.Drain();
                acks.Advance(term, server.Parts.ReplicaStream.Offset);
                loops.Drain();
                Check();
                foreach (SteppedClient client in clients) Assert.NotEqual("", client.TakeReplies());
                foreach (SessionLoop loop in server.Loops) Assert.Equal((0, 0), (loop.Acks.Replies, loop.Acks.Awaited));
                if (!isLost) return;
                acks.Retire();
                acks.Begin(1);

                void Check()
                {
                    foreach (SteppedClient client in clients)
                    {
                        string reply = client.Replies;
                        if (reply.StartsWith(':')) Assert.True(writes.Ends[int.Parse(reply.AsSpan(1).Trim(), CultureInfo.InvariantCulture) - 1] <= acknowledged, FormattableString.Invariant($"schedule {seed}: {reply.Trim()} has left, and {acknowledged} is acknowledged"));
                        else if (reply.Length > 0) Assert.True(isLost && reply.StartsWith("-NOREPLICAS ", StringComparison.Ordinal), reply);
                    }
                }
            }
        }
        finally
        {
            loops.End();
        }
    }

    private static Task<RedKiteServer> StartAsync(SteppedLoops loops)
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("save", ""), ("appendonly", "no"), ("replica-acks", "1"), ("replica-acks-timeout", "0")]) options.Settings[name] = value;
        return RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
    }

    // A loop notes that it waits, asks, and looks: it stops in between.
    private sealed class SteppedAsker(IAckAsker asker, SteppedLoops loops) : IAckAsker
    {
        public void AskForAck(long offset)
        {
            loops.Stop();
            asker.AskForAck(offset);
            loops.Stop();
        }
    }

    // Where each INCR ends in the stream.
    private sealed class Writes(ReplicationStream stream) : IStreamReaders
    {
        private const int QuestionBytes = 37; // REPLCONF GETACK, which is no write

        private long _end = stream.Offset;

        internal List<long> Ends { get; } = [];

        public void Appended()
        {
            long end = stream.Offset;
            if (end - _end != QuestionBytes) Ends.Add(end);
            _end = end;
        }

        public void Abandoned(ReplicaPosition position)
        {
        }
    }
}
