using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>Large values in a background snapshot: written in slices, while commands that change them wait and all others go on.</summary>
public sealed class SlicedValueTests : IAsyncLifetime
{
    private const int Elements = 300;

    private readonly List<Actor> _actors = [];
    private readonly ManualClock _clock = new();
    private RedKiteServer _server = null!;

    public static TheoryData<string, string, string> Writers => new()
    {
        { "hash", "HSET hash f1 new", "HGET hash f1" },
        { "hash", "HPEXPIRE hash 1000000 FIELDS 1 f1", "HGET hash f1" },
        { "hash", "EXPIRE hash 1000", "HLEN hash" },
        { "hash", "RENAME hash other", "HLEN hash" },
        { "hash", "MOVE hash 3", "HLEN hash" },
        { "set", "SADD set new", "SISMEMBER set m1" },
        { "set", "SMOVE set missing m1", "SCARD set" },
        { "zset", "ZINCRBY zset 5 m1", "ZSCORE zset m1" },
        { "zset", "ZREMRANGEBYRANK zset 0 10", "ZRANGE zset 0 3" },
        { "list", "LPUSH list new", "LINDEX list 150" },
        { "list", "LMOVE list small LEFT LEFT", "LLEN list" },
        { "stream", "XADD stream * f v", "XLEN stream" },
        { "stream", "XREADGROUP GROUP g c STREAMS stream >", "XRANGE stream - + COUNT 2" },
        { "array", "ARSET array 5 new", "ARGETRANGE array 0 10" },
        { "array", "ARDELRANGE array 0 100000", "ARCOUNT array" },
        { "array", "ARRING array 10 new", "ARLASTITEMS array 5" },
        { "vset", "VADD vset VALUES 3 1 2 3 e1 SETATTR new", "VGETATTR vset e1" },
        { "vset", "VREM vset e1", "VSIM vset ELE e1 COUNT 5 TRUTH" },
        { "vset", "VSETATTR vset e2 new", "VGETATTR vset e2" },
        { "string", "APPEND string new", "GETRANGE string 5 10" },
        { "string", "SETBIT string 7 1", "STRLEN string" },
        { "hash", "EVAL return(redis.call('HDEL',KEYS[1],'f1')) 1 hash", "HGETALL hash" },
        { "hash", "MULTI;HSET hash f1 new;EXEC", "HEXISTS hash f1" },
    };

    public static TheoryData<string> Removals => ["DEL list", "DEL vset", "UNLINK list", "SET list new", "RPUSH tmp a;RENAME tmp list", "COPY string list REPLACE", "FLUSHALL", "FLUSHDB", "SUNIONSTORE list set set"];

    public async ValueTask InitializeAsync()
    {
        _server = await SteppedSnapshot.StartAsync(clock: _clock);
        Run("DEBUG SET-ACTIVE-EXPIRE 0");
    }

    public async ValueTask DisposeAsync()
    {
        foreach (Actor actor in _actors) actor.Dispose();
        await _server.DisposeAsync();
        Assert.Null(_server.Failure);
    }

    [Theory]
    [MemberData(nameof(Writers))]
    public async Task Writers_of_a_large_value_wait_and_readers_are_answered(string key, string write, string read)
    {
        Fill(key);
        Run("RPUSH small a");
        string[] before = Show(read);
        using var snapshot = new SteppedSnapshot(_server, _clock);
        Actor writer = NewActor();
        Assert.False(writer.Run(write));
        snapshot.StepUntil(() => snapshot.IsSlicing);
        Assert.False(writer.IsDone);
        Assert.Equal(before, Show(read));
        Run("SET other 1").IsOk();
        snapshot.StepUntil(() => !snapshot.IsSlicing);
        Assert.InRange(snapshot.Snapshot.WrittenKeys, 1, write.Contains("small", StringComparison.Ordinal) ? 2 : 1); // it went before others, but for one that the writer changes as soon as it goes on
        writer.WaitUntilDone();
        Assert.All(writer.Replies, reply => Assert.False(reply.IsError, reply.Text));
        snapshot.RunToEnd();
        await snapshot.AssertHoldsDataOfSnapshotPointAsync();
    }

    [Theory]
    [MemberData(nameof(Removals))]
    public async Task Value_that_is_removed_or_replaced_belongs_to_the_snapshot(string removal)
    {
        foreach (string type in (string[])["list", "set", "string", "vset"]) Fill(type);
        foreach (bool isInside in (bool[])[true, false])
        {
            using var snapshot = new SteppedSnapshot(_server, _clock);
            Actor actor = NewActor();
            if (isInside)
            {
                // The list's writer makes it the first value.
                Assert.False(actor.Run("LPUSH list new"));
                snapshot.StepUntil(() => snapshot.IsSlicing);
                snapshot.Step();
            }

            foreach (string command in removal.Split(';')) Assert.False(Run(command).IsError);
            snapshot.RunToEnd();
            actor.WaitUntilDone();
            await snapshot.AssertHoldsDataOfSnapshotPointAsync();
            Run("FLUSHALL");
            foreach (string type in (string[])["list", "set", "string", "vset"]) Fill(type);
        }
    }

    [Theory]
    [InlineData("hash", "redis.call('HSET', 'hash', 'f1', 'new')")]
    [InlineData("string", "redis.call('APPEND', 'string', 'new')")]
    [InlineData("stream", "redis.call('XTRIM', 'stream', 'MAXLEN', '5')")]
    [InlineData("list", "redis.call('RENAME', 'list', 'other')")]
    [InlineData("zset", "redis.call('ZREM', 'zset', 'm1') redis.call('DEL', 'zset')")]
    public async Task Script_that_changes_a_key_it_has_not_declared_completes_the_value(string key, string script)
    {
        Fill(key);
        using var snapshot = new SteppedSnapshot(_server, _clock);
        snapshot.StepUntil(() => snapshot.IsSlicing);
        snapshot.Step();
        Assert.False(_server.Execute("EVAL", script, "0").IsError);
        Assert.True(snapshot.Step());
        Assert.False(snapshot.IsSlicing);
        snapshot.RunToEnd();
        await snapshot.AssertHoldsDataOfSnapshotPointAsync();
    }

    [Fact]
    public async Task Slice_never_has_more_than_its_bound()
    {
        SnapshotBounds bounds = SteppedSnapshot.SmallBounds;
        foreach (string type in (string[])["hash", "set", "zset", "list", "stream", "string", "vset"]) Fill(type);
        long bytes = _server.Engine.Keyspace.UsedBytes;
        using var snapshot = new SteppedSnapshot(_server, _clock);
        snapshot.RunToEnd();
        const int StepBytes = 800; // a packed node of a list or a stream; pending entries
        Assert.InRange(snapshot.Snapshot.SliceBytesPeak, bounds.Bytes, (2 * bounds.Bytes) + bounds.PieceBytes + StepBytes);
        Assert.InRange(snapshot.Steps, 100, int.MaxValue);
        Assert.Equal(7, snapshot.Snapshot.WrittenKeys);
        await snapshot.AssertHoldsDataOfSnapshotPointAsync();
        Assert.Equal(bytes, _server.Engine.Keyspace.UsedBytes);
    }

    [Fact]
    public async Task Nothing_in_the_background_changes_or_moves_a_value_between_slices()
    {
        foreach (string type in (string[])["hash", "set", "zset", "list", "stream", "string", "vset"]) Fill(type);
        for (int i = 0; i < Elements; i += 3) Run($"HPEXPIRE hash 1000 FIELDS 1 f{Text(i)}");
        var moves = new Defragmentation(_server.Engine.Keyspace, 0, 1);
        var sweep = new BackgroundSweep(_server.Engine.Keyspace, 0, 1);
        using var snapshot = new SteppedSnapshot(_server, _clock);
        while (snapshot.Step())
        {
            moves.MoveAll();
            _clock.Advance(10);
            sweep.Run(_clock.NowMs, long.MaxValue, expire: true);
            Run("HGET hash f3");
            Run("HRANDFIELD hash 3");
            Run("LRANGE list 100 200");
        }

        await snapshot.AssertHoldsDataOfSnapshotPointAsync();
    }

    [Fact]
    public async Task Abort_inside_of_a_value_releases_who_waits_and_what_was_removed()
    {
        foreach (string type in (string[])["hash", "list", "zset"]) Fill(type);
        using (var aborted = new SteppedSnapshot(_server, _clock))
        {
            Actor writer = NewActor();
            Assert.False(writer.Run("HSET hash f1 new"));
            aborted.StepUntil(() => aborted.IsSlicing);
            Run("DEL list").IsInteger(1);
            Run("DEL hash").IsInteger(1);
            aborted.Snapshot.Abort();
            FileFailure failure = Assert.Throws<FileFailure>(aborted.RunToEnd);
            Assert.Equal(FileFailure.Canceled, failure.Error);
            writer.WaitUntilDone();
            Run("HLEN hash").IsInteger(1);
            Assert.False(aborted.IsSlicing);
        }

        Run("DEL hash zset");
        FreeDropped();
        Assert.Equal(0, _server.Engine.Keyspace.Stripes.Sum(stripe => stripe.Guard!.LiveBlocks));
        Fill("set");
        using var next = new SteppedSnapshot(_server, _clock);
        next.RunToEnd();
        await next.AssertHoldsDataOfSnapshotPointAsync();
    }

    [Fact]
    public async Task Removed_values_do_not_count_as_used_memory()
    {
        Fill("hash");
        long used = _server.Engine.Keyspace.UsedBytes;
        using var snapshot = new SteppedSnapshot(_server, _clock);
        Run("DEL hash").IsInteger(1);
        Assert.InRange(_server.Engine.Keyspace.UsedBytes, 0, used - 10_000);
        Assert.InRange(_server.Engine.Keyspace.FreeingBytes, 10_000, long.MaxValue);
        snapshot.RunToEnd();
        FreeDropped();
        Assert.Equal(0, _server.Engine.Keyspace.FreeingBytes);
        await snapshot.AssertHoldsDataOfSnapshotPointAsync();
    }

    [Fact]
    public async Task File_holds_the_data_at_the_cut_whatever_runs_between_slices()
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        for (int round = 0; round < TestScale.Of(gate: 3, full: 200); round++, seed++)
        {
            var random = new Random(seed);
            Run("FLUSHALL");
            foreach (string type in (string[])["hash", "set", "zset", "list", "stream", "string", "vset"]) Fill(type);
            for (int i = 0; i < 60; i++) Run($"SET k{Text(i)} {new string('v', random.Next(100))}");
            using var snapshot = new SteppedSnapshot(_server, _clock);
            Actor[] actors = [NewActor(), NewActor(), NewActor()];
            var moves = new Defragmentation(_server.Engine.Keyspace, 0, 1);
            while (snapshot.Step())
            {
                Actor actor = actors[random.Next(actors.Length)];
                if (actor.IsDone && random.Next(3) == 0) actor.Run(RandomCommand(random));
                if (random.Next(10) == 0) _clock.Advance(random.Next(50));
                if (random.Next(20) == 0) moves.MoveAll();
            }

            foreach (Actor actor in actors) actor.WaitUntilDone();
            await snapshot.AssertHoldsDataOfSnapshotPointAsync($"seed {seed}");
        }
    }

    private static string RandomCommand(Random random)
    {
        string[] keys = ["hash", "set", "zset", "list", "stream", "array", "string", "vset", "k1", "k2", "other"];
        string key = keys[random.Next(keys.Length)], second = keys[random.Next(keys.Length)];
        string n = Text(random.Next(Elements));
        return random.Next(48) switch
        {
            0 => $"HSET hash f{n} {new string('n', random.Next(200))}",
            1 => $"HDEL hash f{n}",
            2 => $"HPEXPIRE hash {Text(random.Next(1, 100))} FIELDS 2 f{n} f1",
            3 => $"SADD set m{n} new",
            4 => "SPOP set 3",
            5 => $"ZADD zset {n} m{n} 7 x",
            6 => "ZPOPMIN zset 2",
            7 => $"LSET list {n} {new string('l', random.Next(100))}",
            8 => "RPUSH list a b",
            9 => "LTRIM list 2 -3",
            10 => $"XADD stream * f {n}",
            11 => "XTRIM stream MAXLEN 100",
            12 => "XREADGROUP GROUP g c2 COUNT 5 STREAMS stream >",
            13 => $"XACK stream g {n}-1",
            14 => $"SETRANGE string {n} xyz",
            15 => "APPEND string more",
            16 => $"DEL {key}",
            17 => $"UNLINK {key} {second}",
            18 => $"RENAME {key} {second}",
            19 => $"COPY {key} {second} REPLACE",
            20 => $"MOVE {key} 1",
            21 => $"PEXPIRE {key} {Text(random.Next(1, 100))}",
            22 => $"PERSIST {key}",
            23 => $"EVAL redis.call('DEL','{key}') 0",
            24 => $"EVAL redis.call('RENAME','{key}','{second}') 0",
            25 => $"EVAL return(redis.call('EXPIRE',KEYS[1],'100')) 1 {key}",
            26 => $"MULTI;DEL {key};HSET hash f{n} m;EXEC",
            27 => "SUNIONSTORE other set set",
            28 => $"SET {key} {new string('s', random.Next(5000))}",
            29 when random.Next(4) == 0 => "FLUSHDB",
            30 when random.Next(4) == 0 => "FLUSHALL",
            31 => "SWAPDB 0 1",
            32 => $"SELECT {Text(random.Next(2))}",
            33 => $"SMOVE set other m{n}",
            34 => "LMOVE list other LEFT RIGHT",
            35 => $"HGETALL hash;SMEMBERS set;LRANGE list 0 -1;XRANGE stream - +;GET string",
            36 => $"SORT list ALPHA STORE {second}",
            37 => $"GETDEL {key}",
            38 => $"GETEX {key} PX 50",
            39 => $"ARSET array {n} new a b",
            40 => $"ARDELRANGE array {n} 100",
            41 => $"ARRING array 200 {n} x",
            42 or 43 => $"VADD vset VALUES 3 {n} {Text(random.Next(100))} 7 e{n} SETATTR {n}",
            44 => $"VREM vset e{n}",
            45 => $"VSETATTR vset e{n} {new string('a', random.Next(300))}",
            46 => $"VSIM vset VALUES 3 1 2 {n} EF 300",
            _ => $"SET k{n} {n}",
        };
    }

    // A value that takes many slices.
    private void Fill(string type)
    {
        for (int i = 0; i < Elements; i++)
        {
            string n = Text(i), text = new((char)('a' + (i % 26)), i % 7 == 0 ? 150 : 10);
            _ = type switch
            {
                "hash" => Run($"HSET hash f{n} {text}"),
                "set" => Run($"SADD set m{n} {text}{n}"),
                "zset" => Run($"ZADD zset {n} m{n}"),
                "list" => Run($"RPUSH list {text}{n}"),
                "array" => Run($"ARSET array {Text(i * 7)} {text}{n}"),
                "vset" => Run($"VADD vset VALUES 3 {n} {Text(i % 17)} {Text(i % 31)} e{n} SETATTR {text} EF 20"),
                "stream" => Run($"XADD stream {Text(i + 1)}-1 f {text}"),
                _ => Run($"APPEND string {text}{n}"),
            };
        }

        if (type != "stream") return;
        Run("XGROUP CREATE stream g 0");
        Run("XGROUP CREATE stream g2 0");
        Run("XREADGROUP GROUP g c COUNT 100 STREAMS stream >");
        Run("XREADGROUP GROUP g other COUNT 50 STREAMS stream >");
    }

    private void FreeDropped() => new BackgroundSweep(_server.Engine.Keyspace, 0, 1).Run(_clock.NowMs, long.MaxValue, expire: false);

    private RedKiteReply Run(string command) => _server.Execute(command.Split(' '));

    private string[] Show(string command)
    {
        RedKiteReply reply = Run(command);
        return reply.Items.Count > 0 ? [.. reply.Items.Select(item => item.Text ?? $"{item.Items.Count}")] : [reply.Text ?? $"{reply.Integer}"];
    }

    private Actor NewActor()
    {
        var actor = new Actor(_server);
        _actors.Add(actor);
        return actor;
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

    // A client on a thread of its own, because its commands may have to wait for the walk.
    private sealed class Actor(RedKiteServer server) : IDisposable
    {
        private readonly RedKiteSession _client = server.CreateSession();
        private Task _running = Task.CompletedTask;

        internal List<RedKiteReply> Replies { get; } = [];

        internal bool IsDone => _running.IsCompleted;

        // Whether the commands are done; otherwise they wait for the walk.
        internal bool Run(string commands)
        {
            _running = Task.Run(() =>
            {
                foreach (string command in commands.Split(';')) Replies.Add(_client.Execute(command.Split(' ')));
            });
            Assert.True(SpinWait.SpinUntil(() => _running.IsCompleted || _client.IsHeld, TimeSpan.FromSeconds(30)));
            return _running.IsCompleted;
        }

        internal void WaitUntilDone() => Assert.True(_running.Wait(TimeSpan.FromSeconds(30)));

        public void Dispose() => _client.Dispose();
    }
}
