using RedKite.Server.SlotMoves;

namespace RedKite.Server.Tests.Cluster;

/// <content>A source without a store that dies between two steps of the change: what its folder has at that moment is what it starts with again. The destination goes on.</content>
public sealed partial class SlotMoveTests
{
    private const string Intent = "\"giving\"";

    [Theory]
    [InlineData("caught-up", false)]
    [InlineData("intended", false)]
    [InlineData("held", false)]
    [InlineData("acknowledged", false)]
    [InlineData("asking", false)]
    [InlineData("taking", true)]
    [InlineData("taken", true)]
    [InlineData("given", true)]
    [InlineData("kept", true)]
    public async Task A_source_that_dies_between_two_steps_knows_who_has_the_slots(string step, bool areTaken)
    {
        await using Pair pair = await StartAsync(appendOnly: true);
        Fill(pair.A);
        Dictionary<string, string> before = DigestsOf(pair.A);
        using var copied = new ManualResetEventSlim();
        string folder = _folder.File("a"), image = _folder.File("image");
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name != step) return;
            if (areTaken) Assert.True(SpinWait.SpinUntil(() => pair.B.Cluster!.OwnerOf(0) == pair.B.Cluster.SelfId, WaitMs));
            Copy(folder, image);
            copied.Set();
            if (areTaken) return;
            foreach (SlotMove move in pair.MovesOfA.Moves) move.Stop("the source dies"); // the connection ends, as it does then
        });
        pair.MoveToEnd(final: false);
        Assert.True(copied.Wait(WaitMs, TestContext.Current.CancellationToken));
        await pair.A.DisposeAsync();
        Directory.Delete(folder, recursive: true);
        Directory.Move(image, folder);
        Assert.Equal(step is not ("caught-up" or "kept"), StateOf("a").Contains(Intent, StringComparison.Ordinal));
        await pair.RestartAAsync();
        Assert.True(SpinWait.SpinUntil(() => pair.A.Cluster!.Doubtful.Count == 0, WaitMs));
        Assert.DoesNotContain(Intent, StateOf("a"), StringComparison.Ordinal);
        if (areTaken)
        {
            Assert.StartsWith("MOVED ", pair.A.Execute("SET", "string", "later").Text, StringComparison.Ordinal);
            Assert.Equal(before, DigestsOf(pair.B));
            Assert.True(SpinWait.SpinUntil(() => Held(pair.A) == 0, WaitMs));
        }
        else
        {
            Assert.Equal(before, DigestsOf(pair.A));
            Assert.StartsWith("MOVED ", pair.B.Execute("SET", "string", "later").Text, StringComparison.Ordinal);
            Assert.True(SpinWait.SpinUntil(() => Held(pair.B) == 0 && pair.B.Parts.SlotMoves()!.Active == 0, WaitMs));
            pair.Move(); // another one succeeds
            Assert.Equal(before, DigestsOf(pair.B));
        }
    }

    // The folder may be another server's then.
    [Fact]
    public async Task A_move_that_ends_behind_its_server_leaves_the_servers_file_alone()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        using var given = new ManualResetEventSlim();
        using var ended = new ManualResetEventSlim();
        using var kept = new ManualResetEventSlim();
        pair.MovesOfA.WatchSteps(name =>
        {
            if (name == "kept") kept.Set();
            if (name != "given") return;
            given.Set();
            Assert.True(ended.Wait(WaitMs));
        });
        Assert.Equal("OK", pair.A.Execute("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "16383", "NODE", pair.B.Cluster!.SelfId).Text);
        Assert.True(given.Wait(WaitMs, TestContext.Current.CancellationToken));
        await pair.A.DisposeAsync();
        string state = StateOf("a");
        Assert.Contains(Intent, state, StringComparison.Ordinal);
        ended.Set();
        Assert.True(kept.Wait(WaitMs, TestContext.Current.CancellationToken));
        Assert.Equal(state, StateOf("a"));
        await pair.RestartAAsync();
    }

    // From the hold to the redirects, the source's file is neither written nor replaced.
    [Fact]
    public async Task Writes_that_are_held_do_not_wait_for_the_sources_disk()
    {
        await using Pair pair = await StartAsync();
        Fill(pair.A);
        Dictionary<string, (string State, DateTime At, bool IsServed)> at = [];
        pair.MovesOfA.WatchSteps(name => at[name] = (StateOf("a"), File.GetLastWriteTimeUtc(Path.Combine(_folder.File("a"), "nodes.conf")), pair.A.Cluster!.OwnerOf(0) == pair.A.Cluster.SelfId));
        pair.Move();
        Assert.True(SpinWait.SpinUntil(() => !StateOf("a").Contains(Intent, StringComparison.Ordinal), WaitMs));
        Assert.Contains(Intent, at["held"].State, StringComparison.Ordinal);
        Assert.Equal(at["held"] with { IsServed = false }, at["given"]);
    }

    private string StateOf(string node) => File.ReadAllText(Path.Combine(_folder.File(node), "nodes.conf"));

    private static void Copy(string from, string to)
    {
        foreach (string file in Directory.GetFiles(from, "*", SearchOption.AllDirectories))
        {
            if (file.EndsWith(".lock", StringComparison.Ordinal)) continue; // it ends with the process
            string copy = Path.Combine(to, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy);
        }
    }
}
