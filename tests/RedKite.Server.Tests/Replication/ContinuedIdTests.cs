using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// A replica that goes on while the history gets another id: each moment of PSYNC at which it reads the clock is one of the change. Those that are listed are closed by the change;
/// one that is listed behind it would follow for ever under an id that is not the server's.
/// </summary>
public sealed class ContinuedIdTests
{
    private const int MomentsMax = 12;

    [Fact]
    public async Task A_replica_that_goes_on_knows_the_id_of_the_history_or_is_closed()
    {
        var clock = new ActingClock();
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", "")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        ReplicationState state = server.Engine.Replication;
        ReplicaService replicas = server.Parts.Replicas;
        replicas.Stream.Begin();
        int between = 0;
        for (int moment = 0; moment < MomentsMax; moment++)
        {
            using RespConnection raw = RespConnection.Connect(server.Port);
            raw.Run("REPLCONF capa psync2").IsOk();
            string id = state.Id;
            string next = $"{moment:d40}";
            int readings = 0;
            clock.Reading = () =>
            {
                // On the loop's thread alone.
                if (!server.Engine.Clients.All.Any(session => session.Connection?.Loop.IsCurrent == true) || readings++ != moment) return;
                ReplicaClient? replica = server.Engine.Clients.All.Select(session => replicas.Find(session)).OfType<ReplicaClient>().FirstOrDefault(static replica => replica.State == ReplicaState.None);
                if (replica?.Position is not null) between++;
                state.AdoptId(next, replicas.Stream.Offset);
            };
            raw.SendCommand($"PSYNC {id} {replicas.Stream.Offset + 1}");
            string reply = raw.ReadAny().Text;
            clock.Reading = null;
            if (state.Id == id) continue; // fewer moments than that
            if (reply == "CONTINUE " + state.Id) continue;
            Assert.True(SpinWait.SpinUntil(() => replicas.Replicas.Count == 0, 60_000), $"moment {moment}: the replica was told {reply}, and the history is {state.Id}");
        }

        Assert.NotEqual(0, between); // a moment between the ids and the list was one of them
    }

    private sealed class ActingClock : TimeProvider
    {
        internal Action? Reading { get; set; }

        public override long GetTimestamp()
        {
            Reading?.Invoke();
            return base.GetTimestamp();
        }
    }
}
