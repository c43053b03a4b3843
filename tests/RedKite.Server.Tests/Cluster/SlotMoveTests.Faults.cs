using System.Globalization;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <content>Moves while the disk fails, all keys are flushed, or a command holds its stripes for long.</content>
public sealed partial class SlotMoveTests
{
    [Theory]
    [InlineData("snapshot")]
    [InlineData("acknowledged")]
    [InlineData("asking")]
    public async Task A_flush_of_the_destination_leaves_the_keys_with_the_source(string step)
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == step) Assert.Equal("OK", pair.B.Execute("FLUSHALL").Text);
        });
        SlotMove move = pair.MoveToEnd();
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Equal(before, DigestsOf(pair.A));
    }

    // It was admitted before writes waited, and would be executed behind the last look at whether the move goes on.
    [Theory]
    [InlineData("FLUSHALL")]
    [InlineData("FLUSHDB")]
    public async Task A_flush_that_has_begun_is_refused_when_slots_are_held(string flush)
    {
        await using Pair pair = await StartAsync();
        using RespConnection client = RespConnection.Connect(pair.A.Port);
        client.Run("SET foo 1").IsOk();
        using (LockScope locked = pair.A.Engine.Keyspace.Lock(StripeSet.Of(0)))
        {
            long id = client.Run("CLIENT ID").Number;
            client.SendCommand(flush);
            Assert.True(SpinWait.SpinUntil(() => pair.A.Engine.WholeDatabaseCalls.Most(1, pair.A.Engine.Clock.SteadyMs).Exists(call => call.Key.ClientId == id), WaitMs));
            pair.A.Cluster!.Hold(SlotSet.Of([new SlotRange(5, 5)]));
        }

        client.Read().IsError("TRYAGAIN The slot is being given to another node");
        Assert.Contains("rehashing", client.Run($"EVAL \"return redis.call('{flush}')\" 0").Text, StringComparison.Ordinal);
        client.Run("GET foo").IsBulk("1");
        pair.A.Cluster.Hold(null);
        client.Run(flush).IsOk();
        Assert.Equal(0, Held(pair.A));
    }

    [Theory]
    [InlineData("RELOAD NOSAVE", true)]
    [InlineData("RELOAD NOSAVE", false)]
    [InlineData("RELOAD NOSAVE NOFLUSH MERGE", false)]
    [InlineData("LOADAOF", false)]
    public async Task Data_that_is_loaded_again_ends_the_move(string debug, bool atSource)
    {
        await using Pair pair = await StartAsync(appendOnly: true);
        Fill(pair.A);
        RedKiteServer server = atSource ? pair.A : pair.B;
        Assert.Equal("OK", server.Execute("SAVE").Text);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "caught-up") Assert.Equal("OK", server.Execute(["DEBUG", .. debug.Split(' ')]).Text);
        });
        SlotMove move = pair.MoveToEnd();
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Contains("flushed", move.Message, StringComparison.Ordinal);
        Assert.Equal("value", pair.A.Execute("GET", "string").Text);
    }

    // The first one was canceled, and that could not be written.
    [Fact]
    public async Task A_doubt_is_about_the_slots_of_one_move()
    {
        var files = new FaultyFiles();
        await using Pair pair = await StartAsync(filesOfA: files);
        Fill(pair.A);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "acknowledged") Assert.Equal("OK", pair.A.Execute("CLUSTER", "CANCELSLOTMIGRATIONS").Text);
            if (name == "acknowledged") files.Plan = static call => call.Operation == "sync folder" ? new FileFault(FileFault.InputOutput) : null;
            if (name == "kept") files.Plan = null;
        });
        string slot = KeySlot.Of("string"u8).ToString(CultureInfo.InvariantCulture);
        Assert.Equal(SlotMoveState.Canceled, pair.MoveToEnd(first: slot, last: slot).State);
        Assert.True(SpinWait.SpinUntil(() => files.Plan is null, WaitMs));
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "asking") pair.B.DisposeAsync().AsTask().Wait(WaitMs);
        });
        string other = KeySlot.Of("number"u8).ToString(CultureInfo.InvariantCulture);
        Assert.Equal(SlotMoveState.InDoubt, pair.MoveToEnd(final: false, other, other).State);
        Assert.StartsWith("CLUSTERDOWN", pair.A.Execute("GET", "number").Text, StringComparison.Ordinal);
        Assert.Equal("value", pair.A.Execute("GET", "string").Text);
    }

    // Until the file says it, the answer counts for nothing: a start would ask again.
    [Fact]
    public async Task A_doubt_ends_when_the_answer_is_on_the_disk()
    {
        var files = new FaultyFiles();
        await using Pair pair = await StartAsync(filesOfA: files);
        Fill(pair.A);
        int failures = 0;
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != "asking") return;
            pair.B.DisposeAsync().AsTask().Wait(WaitMs);
            files.Plan = call =>
            {
                if (call.Operation != "sync folder") return null;
                Interlocked.Increment(ref failures);
                return new FileFault(FileFault.InputOutput);
            };
        });
        SlotMove move = pair.MoveToEnd(final: false);
        Assert.Equal(SlotMoveState.InDoubt, move.State);
        await pair.RestartBAsync();
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref failures) > 5, WaitMs));
        Assert.Equal(SlotMoveState.InDoubt, move.State);
        Assert.StartsWith("CLUSTERDOWN", pair.A.Execute("GET", "string").Text, StringComparison.Ordinal);
        Assert.DoesNotContain(pair.LogOfA, IsOfTheEnd);
        files.Plan = null;
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded && pair.LogOfA.Any(IsOfTheEnd), WaitMs));
        Assert.Equal("value", pair.A.Execute("GET", "string").Text);
        Assert.Single(pair.LogOfA, IsOfTheEnd);
        Assert.Single(pair.LogOfA, static line => line.Contains("They are refused until that is written", StringComparison.Ordinal));

        static bool IsOfTheEnd(string line) => line.Contains("they are served here", StringComparison.Ordinal);
    }

    // As when certificates are renewed: for a moment they do not fit.
    [Fact]
    public async Task A_broken_key_file_ends_one_move_and_no_other()
    {
        using var certificates = new TestCertificates();
        await using Pair pair = await StartAsync(tls: FilesOf(certificates));
        string key = certificates.PathOf("server.key"), whole = await File.ReadAllTextAsync(key, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(key, "broken", TestContext.Current.CancellationToken);
        SlotMove move = pair.MoveToEnd(first: "0", last: "10");
        Assert.Equal(SlotMoveState.Failed, move.State);
        Assert.Contains("TLS cannot be used", move.Message, StringComparison.Ordinal);
        Assert.Equal(SlotMoveState.Failed, pair.MoveToEnd(first: "0", last: "10").State);
        await File.WriteAllTextAsync(key, whole, TestContext.Current.CancellationToken);
        Assert.Equal("", pair.MoveToEnd(first: "0", last: "10").Message);
    }

    [Fact]
    public async Task A_doubt_is_asked_about_again_behind_a_broken_key_file()
    {
        using var certificates = new TestCertificates();
        await using Pair pair = await StartAsync(tls: FilesOf(certificates));
        string key = certificates.PathOf("server.key"), whole = await File.ReadAllTextAsync(key, TestContext.Current.CancellationToken);
        using var failed = new CountdownEvent(2);
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "unanswered" && !failed.IsSet) failed.Signal();
            if (name != "asking") return;
            File.WriteAllText(key, "broken");
            foreach (SlotMove move in pair.MovesOfA.Moves) move.Stop("the connection ends");
        });
        SlotMove move = pair.MoveToEnd(final: false, first: "0", last: "10");
        Assert.True(failed.Wait(WaitMs, TestContext.Current.CancellationToken));
        Assert.Equal(SlotMoveState.InDoubt, move.State);
        await File.WriteAllTextAsync(key, whole, TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => move.HasEnded, WaitMs));
    }

    // The file is from before the move.
    [Fact]
    public async Task Keys_of_slots_that_have_left_are_removed_when_they_are_loaded_again()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Assert.Equal("OK", pair.A.Execute("SAVE").Text);
        pair.Move();
        Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0 && pair.A.Engine.Keyspace.HiddenSlots is null, WaitMs));
        Assert.Equal("OK", pair.A.Execute("DEBUG", "RELOAD", "NOSAVE").Text);
        Assert.Equal(0, pair.A.Execute("DBSIZE").Integer);
        Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));
    }

    // Such as a script that only reads, which began when the slots were held already.
    [Fact]
    public async Task Writes_go_on_behind_a_move_although_a_command_holds_a_stripe()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        using RespConnection client = RespConnection.Connect(pair.A.Port), blocked = RespConnection.Connect(pair.A.Port);
        string moved = Enumerable.Range(0, int.MaxValue).Select(static i => $"nothing{i}").First(static key => KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(key)) is <= 100 and var slot && slot % 64 != 5);
        blocked.SendCommand($"BLPOP {moved} 0");
        Assert.True(SpinWait.SpinUntil(() => pair.A.Engine.Blocked.Count == 1, WaitMs));
        using var isLocked = new ManualResetEventSlim();
        using var ends = new ManualResetEventSlim();
        string key = Enumerable.Range(0, 1000).Select(static i => $"key{i}").First(static key => KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(key)) is > 100 and var slot && slot % 64 != 5);
        var reader = new Thread(() =>
        {
            using LockScope locked = pair.A.Engine.Keyspace.Lock(StripeSet.Of(5));
            isLocked.Set();
            ends.Wait();
        });
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != "acknowledged") return;
            reader.Start();
            Assert.True(isLocked.Wait(WaitMs));
            client.SendCommand($"SET {key} later");
            Assert.True(SpinWait.SpinUntil(() => pair.A.Engine.Pause.Paused(pair.A.Engine.Clients) > 0, WaitMs));
        });
        Assert.Equal("OK", pair.A.Execute("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "100", "NODE", pair.B.Cluster!.SelfId).Text);
        try
        {
            client.Read().IsOk();
            Assert.StartsWith("MOVED", blocked.Read().Text, StringComparison.Ordinal);
        }
        finally
        {
            ends.Set();
        }

        reader.Join();
        Assert.True(SpinWait.SpinUntil(() => pair.MovesOfA.Active == 0, WaitMs));
        Assert.Equal(SlotMoveState.Completed, pair.MovesOfA.Moves[0].State);
    }

    private static string[] FilesOf(TestCertificates certificates)
    {
        certificates.Issue("server").Dispose();
        return ["tls-cert-file", certificates.PathOf("server.crt"), "tls-key-file", certificates.PathOf("server.key"), "tls-ca-cert-file", certificates.PathOf("authority.crt")];
    }
}
