using System.Text;
using RedKite.Persistence.Check;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Cluster;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.TestSupport;
using RedKite.Testing;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What a former primary has and its successor lacks is in a file before it is discarded.</summary>
public sealed class LostWritesTests
{
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(5);

    [Fact]
    public async Task A_primary_that_comes_back_keeps_what_its_successor_lacks()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await CutReplicaOffAsync(primary, replica);
        Assert.Equal("OK", primary.Server.Execute("SET", "lost", "1").Text);
        Assert.Equal("2", primary.Server.Execute("INCRBY", "kept", "1").Text);
        primary.Server.Execute("PUBLISH", "news", "a message");
        ExecuteTransaction(primary);
        await TakeOverAsync(primary, replica);
        string file = Assert.Single(LostFiles(primary));
        Assert.Matches("^lost-writes-[0-9a-f]{40}-[0-9]{8}T[0-9]{9}Z\\.aof$", Path.GetFileName(file));
        string text = await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);
        Assert.Equal(["SET lost 1", "INCRBY kept 1", "MULTI", "SET {lost} 2", "RPUSH {lost}list a b", "EXEC"], Commands(text));
        Assert.Contains("the file 'lost-writes-", primary.Server.Cluster!.Lost.News, StringComparison.Ordinal);
        Assert.Contains("has the commands on data: 6.", primary.Server.Cluster.Lost.News, StringComparison.Ordinal);
        Assert.Equal(1, primary.Server.Cluster.Watch.Figures().LostWrites);
        Assert.Contains(Path.GetFileName(file), new ClusterCulprits(primary.Server.Cluster.Watch.Picture()).LostWrites(), StringComparison.Ordinal);
        using (IOpenFile log = DiskFiles.Instance.OpenRead(file)) Assert.Equal(6, AofSummary.Of(log, new RdbReadOptions(), nowMs: 0).Commands); // as redkite check
        Assert.Equal(0, replica.Server.Cluster!.Watch.Figures().LostWrites);
        File.Delete(file);
        Assert.Null(primary.Server.Cluster.Lost.News);
    }

    [Fact]
    public async Task Nothing_is_written_if_nothing_is_lost()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await CutReplicaOffAsync(primary, replica);
        primary.Server.Execute("PUBLISH", "news", "a message"); // it lacks that alone
        await TakeOverAsync(primary, replica);
        Assert.Empty(LostFiles(primary));
        Assert.Null(primary.Server.Cluster!.Lost.News);
    }

    [Fact]
    public async Task A_role_that_is_handed_over_loses_nothing()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await cluster.FailOverAsync(replica);
        await FollowsAsync(primary, replica);
        Assert.Empty(LostFiles(primary));
        Assert.Null(primary.Server.Cluster!.Lost.News);
    }

    [Fact]
    public async Task What_the_backlog_has_not_is_said_to_be_lost()
    {
        await using RedKiteTestCluster cluster = await StartAsync(("repl-backlog-size", "16384"));
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await CutReplicaOffAsync(primary, replica);
        string value = new('x', 1 << 20);
        for (int i = 0; i < 4; i++) primary.Server.Execute("SET", "lost", value);
        await TakeOverAsync(primary, replica);
        Assert.Empty(LostFiles(primary));
        Assert.Contains("the backlog does not reach back so far", primary.Server.Cluster!.Lost.News, StringComparison.Ordinal);
        Assert.Equal(1, primary.Server.Cluster.Watch.Figures().LostWrites);
    }

    // One that was stopped in order knows how far its data is; of one that died, the log does not say.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_primary_that_was_started_again_says_if_it_cannot_tell(bool died)
    {
        await using RedKiteTestCluster cluster = await StartAsync(("appendonly", "yes"));
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        string folder = Path.Combine(primary.Server.Engine.Settings.DirectoryPath, "appendonlydir");
        await primary.KillAsync();
        if (died) await File.AppendAllTextAsync(Directory.GetFiles(folder, "*.incr.aof").Single(), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", TestContext.Current.CancellationToken);
        await cluster.UntilServedAsync();
        await primary.StartAgainAsync();
        await FollowsAsync(primary, replica);
        Assert.Empty(LostFiles(primary));
        if (died) Assert.Contains("cannot be told", primary.Server.Cluster!.Lost.News, StringComparison.Ordinal);
        else Assert.Null(primary.Server.Cluster!.Lost.News);
    }

    // The failure is one line, nothing is thrown, and half a file does not stay.
    [Fact]
    public async Task A_full_disk_is_one_line()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await TakeOverAsync(primary, replica);
        ClusterState state = primary.Server.Cluster!.State;
        string folder = primary.Server.Engine.Settings.DirectoryPath, command = $"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$90000\r\n{new string('x', 90_000)}\r\n";
        foreach (long capacity in (long[])[70_000, 1_000_000])
        {
            var disk = new FaultyFiles { CapacityBytes = capacity };
            disk.CreateFolder(folder);
            var lost = new LostWrites(primary.Server.Engine, new LostHost(state.Topology.Terms.Of(state.Self.ShardId), Encoding.Latin1.GetBytes(command)), disk);
            lost.NoteSuccessor(state.Self.ShardId);
            lost.NoteAnswer(isFull: true, state, CancellationToken.None);
            Assert.Contains(capacity < command.Length ? "nothing is kept: " : "has the commands on data: 1.", lost.News, StringComparison.Ordinal);
            Assert.Equal(capacity < command.Length ? 0 : 1, disk.List(folder).Count);
            lost.NoteAnswer(isFull: true, state, CancellationToken.None); // another attempt of the same link
            Assert.Equal(capacity < command.Length ? 0 : 1, disk.List(folder).Count);
        }
    }

    // What the link was told to end leaves nothing behind, and the next one begins anew.
    [Fact]
    public async Task Writing_ends_with_its_link()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        await TakeOverAsync(primary, replica);
        ClusterState state = primary.Server.Cluster!.State;
        string folder = primary.Server.Engine.Settings.DirectoryPath;
        using var link = new CancellationTokenSource();
        var disk = new FaultyFiles();
        disk.CreateFolder(folder);
        byte[] command = Encoding.Latin1.GetBytes($"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$90000\r\n{new string('x', 90_000)}\r\n");
        var lost = new LostWrites(primary.Server.Engine, new LostHost(state.Topology.Terms.Of(state.Self.ShardId), command) { Reading = link.Cancel }, disk);
        lost.NoteSuccessor(state.Self.ShardId);
        Assert.Throws<OperationCanceledException>(() => lost.NoteAnswer(isFull: true, state, link.Token));
        Assert.Empty(disk.List(folder));
        Assert.Null(lost.News);
        lost.NoteAnswer(isFull: true, state, CancellationToken.None);
        Assert.Single(disk.List(folder));
    }

    // What has expired there would count as lost.
    [Fact]
    public async Task A_primary_that_may_not_serve_removes_nothing_by_itself()
    {
        await using RedKiteTestCluster cluster = await StartAsync();
        RedKiteServer server = cluster.PrimaryOf("a").Server;
        Assert.True(MayRemove());
        server.Cluster!.Apply(server.Cluster.State.Topology, serves: false);
        Assert.False(MayRemove());
        server.Cluster.Apply(server.Cluster.State.Topology, serves: true);
        Assert.True(MayRemove());

        bool MayRemove() => server.Engine.MayRemoveKeys(server.Engine.Clock.SteadyMs);
    }

    // The stream selects a database only where it changes.
    [Fact]
    public async Task Each_command_is_kept_with_its_database()
    {
        await using RedKiteTestCluster cluster = await StartAsync(("cluster-databases", "3"));
        (RedKiteTestNode primary, RedKiteTestNode replica) = await ReplicatedAsync(cluster, "SET", "kept", "1");
        using RedKiteSession session = primary.Server.CreateSession();
        session.Execute("SELECT", "2");
        session.Execute("SET", "kept", "2");
        while (OffsetOf(replica) < OffsetOf(primary)) await Task.Delay(Look, TestContext.Current.CancellationToken);
        await CutReplicaOffAsync(primary, replica);
        session.Execute("SET", "lost", "2"); // selects nothing
        primary.Server.Execute("SET", "lost", "0");
        session.Execute("SELECT", "1");
        foreach (string line in (string[])["MULTI", "SET lost 1", "EXEC"]) Assert.False(session.Execute(line.Split(' ')).IsError);
        await TakeOverAsync(primary, replica);
        string text = await File.ReadAllTextAsync(Assert.Single(LostFiles(primary)), TestContext.Current.CancellationToken);
        Assert.Equal(["SELECT 2", "SET lost 2", "SELECT 0", "SET lost 0", "SELECT 1", "SET lost 1"], Commands(text));
        Assert.Contains("has the commands on data: 3.", primary.Server.Cluster!.Lost.News, StringComparison.Ordinal);
    }

    private sealed class LostHost(ShardTerms terms, byte[] lost) : IClusterHost
    {
        internal Action? Reading { get; init; }

        public (string History, long Offset)? Position => (terms.TakenOverFrom, terms.TakenOverAt + lost.Length);

        public int StreamDatabase => throw new NotSupportedException();

        public bool ReadStream(long from, long to, Action<ReadOnlySpan<byte>> read)
        {
            Reading?.Invoke();
            Assert.Equal((terms.TakenOverAt, terms.TakenOverAt + lost.Length), (from, to));
            read(lost);
            return true;
        }

        public int Port => 0;

        public int TlsPort => 0;

        public IEnumerable<string> ReplicasInStep => [];

        public bool CountedReplicasHaveAll => true;

        public IReadOnlyList<MoveProgress> Moves => [];

        public void SlotsMoved() => throw new NotSupportedException();

        public Action BeginRoleChange(PrimaryAddress? primary) => throw new NotSupportedException();

        public void ReplyLater(Session session, LateReply wait, byte[] reply) => throw new NotSupportedException();

        public void ReplicasChanged() => throw new NotSupportedException();

        public void Detach() => throw new NotSupportedException();

        public void Attach() => throw new NotSupportedException();

        public bool PrepareHandover(string id, string incarnation, CancellationToken cancellation) => throw new NotSupportedException();

        public bool ConfirmHandover(string id, string incarnation, CancellationToken cancellation) => throw new NotSupportedException();

        public void EndHandover() => throw new NotSupportedException();

        public void ResumePaused() => throw new NotSupportedException();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(1000)]
    public void The_stream_is_copied_wherever_it_is_cut(int bytes)
    {
        const string Kept = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n*1\r\n*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nincr\r\n$0\r\n\r\n*1\r\n$4\r\nEXEC\r\n";
        const string Stream = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n*1\r\n*1\r\n$4\r\nPING\r\n*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n*1\r\n$5\r\nMULTI\r\n*3\r\n$7\r\npublish\r\n$3\r\nSET\r\n$1\r\nk\r\n*2\r\n$4\r\nincr\r\n$0\r\n\r\n*1\r\n$4\r\nEXEC\r\n";
        var copied = new StringBuilder();
        var copy = new DataCommands(piece => copied.Append(Encoding.Latin1.GetString(piece)), database: 0);
        byte[] stream = Encoding.Latin1.GetBytes(Stream);
        for (int i = 0; i < stream.Length; i += bytes) copy.Add(stream.AsSpan(i, Math.Min(bytes, stream.Length - i)));
        Assert.Equal(Kept, copied.ToString());
        Assert.Equal(4, copy.Count);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(1000)]
    public void Databases_are_selected_wherever_the_stream_is_cut(int bytes)
    {
        const string Stream = "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*2\r\n$6\r\nselect\r\n$2\r\n12\r\n*1\r\n$4\r\nPING\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n*2\r\n$3\r\nDEL\r\n$1\r\nc\r\n*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n*2\r\n$3\r\nDEL\r\n$1\r\nd\r\n";
        var copied = new StringBuilder();
        var copy = new DataCommands(piece => copied.Append(Encoding.Latin1.GetString(piece)), database: 12);
        byte[] stream = Encoding.Latin1.GetBytes(Stream);
        for (int i = 0; i < stream.Length; i += bytes) copy.Add(stream.AsSpan(i, Math.Min(bytes, stream.Length - i)));
        Assert.Equal(["SELECT 12", "DEL a", "SELECT 3", "DEL b", "DEL c", "SELECT 12", "DEL d"], Commands(copied.ToString()));
        Assert.Equal(4, copy.Count);
    }

    [Theory]
    [InlineData("*2\r\n$6\r\nSELECT\r\n$10\r\n4294967296\r\n")]
    [InlineData("+OK\r\n")]
    [InlineData("*x\r\n")]
    [InlineData("*1\r\n*1\r\n")]
    [InlineData("*1\r\n$99999999999\r\n")]
    [InlineData("*1\r\n$65\r\n")]
    [InlineData("*00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001\r\n")]
    public void What_is_no_stream_is_refused(string text) =>
        Assert.Throws<InvalidDataException>(() => new DataCommands(static _ => { }, database: 0).Add(Encoding.Latin1.GetBytes(text)));

    private static Task<RedKiteTestCluster> StartAsync(params (string Name, string Value)[] settings) => RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
    {
        Shards = 1,
        ReplicasPerShard = 1,
        Configure = options =>
        {
            options.Settings["repl-ping-replica-period"] = "3600";
            foreach ((string name, string value) in settings) options.Settings[name] = value;
        },
    });

    // A primary and its replica, with a write that both have.
    private static async Task<(RedKiteTestNode Primary, RedKiteTestNode Replica)> ReplicatedAsync(RedKiteTestCluster cluster, params string[] write)
    {
        RedKiteTestNode primary = cluster.PrimaryOf("a"), replica = cluster.ReplicasOf(primary)[0];
        Assert.False(primary.Server.Execute(write).IsError);
        while (OffsetOf(replica) < OffsetOf(primary) || !IsInStep(primary) || !IsInStep(replica)) await Task.Delay(Look, TestContext.Current.CancellationToken);
        return (primary, replica);

        // The topology changes for that, and a change would connect the replica again.
        bool IsInStep(RedKiteTestNode node) => node.Server.Cluster!.State.Topology.Terms.Shards.Values.Any(terms => terms.ReplicasInStep.Contains(replica.Id));
    }

    // The network between them fails, and the primary goes on.
    private static async Task CutReplicaOffAsync(RedKiteTestNode primary, RedKiteTestNode replica)
    {
        replica.Server.Follower.Detach();
        while (primary.Server.Parts.Replicas.Replicas.Count > 0) await Task.Delay(Look, TestContext.Current.CancellationToken);
    }

    private static async Task TakeOverAsync(RedKiteTestNode primary, RedKiteTestNode replica)
    {
        primary.CutOff();
        while (!replica.Serves) await Task.Delay(Look, TestContext.Current.CancellationToken);
        primary.Reconnect();
        await FollowsAsync(primary, replica);
    }

    private static async Task FollowsAsync(RedKiteTestNode former, RedKiteTestNode primary)
    {
        while (former.Server.Engine.Replication.Id != primary.Server.Engine.Replication.Id || !former.Server.Engine.Replication.IsReplica) await Task.Delay(Look, TestContext.Current.CancellationToken);
    }

    private static long OffsetOf(RedKiteTestNode node) => node.Server.Parts.ReplicaStream.Offset;

    private static void ExecuteTransaction(RedKiteTestNode node)
    {
        using RedKiteSession session = node.Server.CreateSession();
        foreach (string line in (string[])["MULTI", "SET {lost} 2", "RPUSH {lost}list a b", "EXEC"]) Assert.False(session.Execute(line.Split(' ')).IsError);
    }

    private static string[] LostFiles(RedKiteTestNode node) => Directory.GetFiles(node.Server.Engine.Settings.DirectoryPath, "lost-writes-*");

    private static string[] Commands(string text) => [.. text.Split('*', StringSplitOptions.RemoveEmptyEntries).Select(static command => string.Join(' ', command.Split("\r\n").Where(static (_, i) => i > 0 && i % 2 == 0)).TrimEnd())];
}
