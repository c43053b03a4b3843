using System.Runtime.InteropServices;
using System.Text;
using RedKite.Server.Commands.VectorSets;
using RedKite.Server.Tests.Execution.Slices;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Tests.Commands.VectorSets;

/// <summary>VADD and VSIM with a projection that takes several slices to make and to apply: commands of other clients in between are steps of the test.</summary>
[Collection("Searches that have stopped")] // one number of the process bounds them
public sealed class SlicedProjectionTests : IAsyncDisposable
{
    private const int From = 65_536;
    private const int To = 64;
    private const long BytesToMake = (long)From * To * (VectorProjection.BytesPerMade + sizeof(float));
    private const int SlicesToMake = (int)(BytesToMake / VectorSearchWork.SliceBytes);

    private readonly RedKiteServer _server;
    private readonly RedKiteSession _session;
    private readonly Random _random = new(6);

    public SlicedProjectionTests()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["bind"] = "127.0.0.1";
        _server = RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
        _session = _server.CreateSession();
    }

    public async ValueTask DisposeAsync()
    {
        _session.Dispose();
        await _server.DisposeAsync();
    }

    // What is counted is what is made and read, a row more at most.
    [Fact]
    public void Slice_makes_and_applies_so_much_and_no_more()
    {
        const long RowBytes = From * (VectorProjection.BytesPerMade + sizeof(float));
        using SlicedCommand adding = Begin("v", Vector());
        VectorSearch search = ((VectorSearchWork)adding.Client.Work!).Search;
        long before = 0;
        do
        {
            Assert.InRange(search.BytesRead - before, VectorSearchWork.SliceBytes, VectorSearchWork.SliceBytes + RowBytes);
            before = search.BytesRead;
        }
        while (adding.RunSlice() && search.BytesRead < BytesToMake);
        Assert.Equal(":1", adding.RunToEnd());
        Assert.Equal(BytesToMake, search.BytesRead);
        Assert.InRange(adding.Slices, SlicesToMake / 2, SlicesToMake + 1);
    }

    [Fact]
    public void Set_is_there_when_its_projection_is()
    {
        string vector = Vector();
        using SlicedCommand adding = Begin("v", vector);
        for (int i = 0; i < SlicesToMake / 2; i++) Assert.True(adding.RunSlice());
        Assert.Equal("0", Run("EXISTS v"));
        Assert.Equal("0", Run("DBSIZE"));
        Assert.Equal("none", Run("TYPE v"));
        Assert.Equal(":1", adding.RunToEnd());
        Assert.Equal("1", Run("VCARD v"));
        Assert.Equal(0, adding.Restarts);
        using SlicedCommand search = new(_server.Engine, ["VSIM", "v", "FP32", vector]);
        Assert.Equal("*1 $1 e", search.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.InRange(search.Slices, 1, 2 + (int)((long)From * To * sizeof(float) / VectorSearchWork.SliceBytes));
    }

    // As the digest has it: names, stored vectors, attributes.
    [Fact]
    public void Vector_is_the_same_at_once_and_in_slices()
    {
        string vector = Vector();
        using (SlicedCommand first = Begin("sliced", vector)) first.RunToEnd(); // a new set
        using (SlicedCommand second = Begin("sliced", vector, "f")) second.RunToEnd(); // one that is there
        AtOnce("whole", vector, "e");
        AtOnce("whole", vector, "f");
        Assert.Equal(Run("DEBUG DIGEST-VALUE whole"), Run("DEBUG DIGEST-VALUE sliced"));
    }

    [Theory]
    [InlineData("SET v string", "-WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("VADD v VALUES 2 1 1 e", "-ERR Vector dimension mismatch - got 65536 but set has 2")]
    [InlineData("VADD v REDUCE 64 VALUES 65 {65} e", "-ERR Input dimension mismatch for projection - got 65536 but projection expects 65")]
    public void Command_begins_again_when_its_key_gets_a_value(string change, string reply)
    {
        using SlicedCommand adding = Begin("v", Vector());
        Run(change.Replace("{65}", string.Join(' ', Enumerable.Repeat("1", 65)), StringComparison.Ordinal));
        long used = _server.Engine.Keyspace.UsedBytes;
        Assert.Equal(reply, adding.RunToEnd());
        Assert.Equal(1, adding.Restarts);
        Assert.InRange(_server.Engine.Keyspace.UsedBytes, 0, used - ((long)From * To * sizeof(float)));
    }

    [Fact]
    public void Two_clients_that_make_the_same_set_add_to_one()
    {
        using SlicedCommand first = Begin("v", Vector());
        using SlicedCommand other = Begin("v", Vector(), "f");
        Assert.Equal(":1", other.RunToEnd());
        Assert.Equal(":1", first.RunToEnd());
        Assert.Equal("2", Run("VCARD v"));
        AssertUsed(sets: 1);
    }

    [Fact]
    public void Client_that_is_gone_leaves_nothing()
    {
        for (int i = 0; i < VectorSearchWork.StoppedMax * 2; i++)
        {
            using SlicedCommand adding = Begin("v", Vector());
            if (i % 8 == 0) Assert.True(adding.RunSlice());
            Assert.True(adding.Client.TryEnd());
            adding.RunToEnd();
            Free();
        }

        AssertUsed(sets: 0);
        using SlicedCommand last = Begin("v", Vector());
        Assert.Equal(":1", last.RunToEnd());
    }

    [Fact]
    public void Additions_beyond_the_limit_wait_without_a_projection()
    {
        const int Beyond = 6;
        const long ProjectionBytes = (long)From * To * sizeof(float);
        string vector = Vector();
        List<SlicedCommand> additions = [];
        try
        {
            for (int i = 0; i < VectorSearchWork.StoppedMax + Beyond; i++) additions.Add(Begin($"v{i}", vector));
            Free();
            Assert.InRange(_server.Engine.Keyspace.UsedBytes, VectorSearchWork.StoppedMax * ProjectionBytes, (VectorSearchWork.StoppedMax + 1) * ProjectionBytes);
            Assert.True(additions[^1].RunSlice()); // nothing is done
            foreach (SlicedCommand adding in additions.Take(VectorSearchWork.StoppedMax - 1)) Assert.True(adding.Client.TryEnd() && !adding.RunSlice());
            foreach (SlicedCommand adding in additions.Skip(VectorSearchWork.StoppedMax - 1)) Assert.Equal(":1", adding.RunToEnd());
        }
        finally
        {
            foreach (SlicedCommand adding in additions) adding.Dispose();
        }

        AssertUsed(sets: Beyond + 1);
        Assert.Equal(Run($"VEMB v{VectorSearchWork.StoppedMax - 1} e"), Run($"VEMB v{VectorSearchWork.StoppedMax} e"));
    }

    // A quarter of the work that a unit may do is for one command; the rest are refused, and nothing of them is left.
    [Fact]
    public void Transaction_makes_as_many_as_its_limit_allows()
    {
        string vector = Vector();
        using RedKiteSession session = _server.CreateSession();
        session.UnitWork.Limits = (BytesToMake / VectorSearchWork.BytesPerStep, 3 * BytesToMake / VectorSearchWork.BytesPerStep);
        session.Execute("MULTI");
        for (int i = 0; i < 6; i++) session.Execute(Words($"w{i}", vector, "e"));
        string?[] replies = [.. session.Execute("EXEC").Items.Select(item => item.Text)];
        Assert.Equal("1", replies[0]);
        Assert.Equal("1", replies[1]);
        Assert.Equal("ERR the command takes too long for a transaction or script", replies[4]);
        Assert.Equal("ERR the command takes too long for a transaction or script", replies[5]);
        AssertUsed(sets: replies.Count(reply => reply == "1"));
    }

    // A log, a primary's stream and a dump may have more than VADD makes.
    [Fact]
    public void Projection_that_was_accepted_elsewhere_is_made_and_applied_in_slices()
    {
        const int Large = 2 * To;
        const int SlicesToApply = (int)((long)From * Large * sizeof(float) / VectorSearchWork.SliceBytes);
        const long RowBytes = From * (VectorProjection.BytesPerMade + sizeof(float));
        string vector = Vector();
        using (SlicedCommand adding = new(_server.Engine, ["VADD", "v", "REDUCE", $"{Large}", "FP32", vector, "e"], wasAccepted: true))
        {
            VectorSearch search = ((VectorSearchWork)adding.Client.Work!).Search;
            for (long before = search.BytesRead; adding.RunSlice(); before = search.BytesRead) Assert.InRange(search.BytesRead - before, 1, VectorSearchWork.SliceBytes + RowBytes);
            Assert.Equal(":1", adding.Reply);
        }

        ReadOnlyMemory<byte> dump = _session.Execute("DUMP", "v").Bytes;
        Assert.Equal("OK", _session.Execute([.. new[] { "RESTORE", "w", "0" }.Select(word => (ReadOnlyMemory<byte>)Encoding.Latin1.GetBytes(word)), dump]).Text);
        foreach (string key in (string[])["v", "w"])
        {
            using SlicedCommand search = new(_server.Engine, ["VSIM", key, "FP32", vector]);
            Assert.Equal("*1 $1 e", search.RunToEnd()!.ReplaceLineEndings(" "));
            Assert.InRange(search.Slices, SlicesToApply - 1, SlicesToApply + 1);
        }
    }

    private void AssertUsed(int sets)
    {
        Free();
        Assert.InRange(_server.Engine.Keyspace.UsedBytes, (long)From * To * sizeof(float) * sets, ((long)From * To * sizeof(float) * sets) + (1 << 20));
    }

    private void Free()
    {
        Keyspace keyspace = _server.Engine.Keyspace;
        for (int i = 0; i < keyspace.Stripes.Length; i++)
        {
            using LockScope locked = keyspace.Lock(StripeSet.Of(i));
            while (keyspace.Stripes[i].FreeDroppedSlice())
            {
            }
        }
    }

    private void AtOnce(string key, string vector, string element)
    {
        using RedKiteSession session = _server.CreateSession();
        session.Execute("MULTI");
        session.Execute(Words(key, vector, element));
        Assert.Equal("1", session.Execute("EXEC").Items[0].Text);
    }

    private SlicedCommand Begin(string key, string vector, string element = "e") => new(_server.Engine, ["VADD", key, "REDUCE", $"{To}", "FP32", vector, element]);

    private static ReadOnlyMemory<byte>[] Words(string key, string vector, string element) =>
        [.. new[] { "VADD", key, "REDUCE", $"{To}", "FP32", vector, element }.Select(word => (ReadOnlyMemory<byte>)Encoding.Latin1.GetBytes(word))];

    private string Vector()
    {
        float[] vector = new float[From];
        for (int i = 0; i < vector.Length; i++) vector[i] = _random.NextSingle() - 0.5f;
        return Encoding.Latin1.GetString(MemoryMarshal.AsBytes<float>(vector));
    }

    private string? Run(string command) => Text(_session.Execute([.. command.Split(' ')]));

    private static string? Text(RedKiteReply reply) => reply.Items.Count > 0 ? string.Join(' ', reply.Items.Select(Text)) : reply.Text;
}
