using System.Globalization;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// SPOP, SRANDMEMBER, HRANDFIELD and ZRANDMEMBER choose every member with the same probability, in every encoding and after
/// most members were removed. The random numbers are seeded; only the tables' hash keys differ between runs. A uniform sample
/// fails a check once in ten million runs.
/// </summary>
public sealed class SamplingTests : IAsyncLifetime
{
    private const int Seed = 20261122;

    // How often each member is expected to be chosen, or to be left out if that is rarer.
    private const int Mean = 40;

    // The two-sided limit of a normal variable at an error rate of 1e-7.
    private const double DeviationsMax = 5.33;

    // Of the members that are added before most are removed, one in a fixed number stays.
    private const int RemovedShare = 40;

    private readonly CommandTranscript _transcript = new();

    public enum Shape
    {
        Integers,
        Packed,
        Table,
        TableAfterRemoval,
        PackedAfterRemoval,
    }

    public static TheoryData<string, Shape> Samples
    {
        get
        {
            TheoryData<string, Shape> data = [];
            foreach (Shape shape in Enum.GetValues<Shape>())
            {
                foreach (string command in (string[])["SRANDMEMBER", "SPOP", "HRANDFIELD", "ZRANDMEMBER"])
                {
                    if (shape != Shape.Integers || command is "SRANDMEMBER" or "SPOP") data.Add(command, shape);
                }
            }

            return data;
        }
    }

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [MemberData(nameof(Samples))]
    public void Every_member_has_the_same_probability(string command, Shape shape)
    {
        SamplingRandom.Seed(Seed);
        try
        {
            string[] members = Fill(command, shape);
            foreach (int count in (int[])[0, 1, 3, members.Length / 4, members.Length / 2, members.Length - 1, -7])
            {
                if (count >= 0 || command != "SPOP") Sample(command, members, count);
            }
        }
        finally
        {
            SamplingRandom.Seed(null);
        }
    }

    // A count of 0 stands for no argument.
    private void Sample(string command, string[] members, int count)
    {
        Dictionary<string, int> times = members.ToDictionary(member => member, _ => 0);
        int each = Math.Max(1, Math.Abs(count));
        int repeats = Mean * members.Length / (count > 0 ? Math.Min(each, members.Length - each) : each);
        for (int i = 0; i < repeats; i++)
        {
            string[] sample = count == 0 ? [Run($"{command} k").Text] : [.. Run($"{command} k {count}").Items.Select(item => item.Text)];
            Assert.Equal(each, sample.Length);
            if (count > 0) Assert.Equal(each, sample.Distinct().Count());
            foreach (string member in sample) times[member]++;
            if (command == "SPOP") Assert.Equal(each, Run("SADD k " + string.Join(' ', sample)).Number);
        }

        // Distinct members make the counts more even: the variance is that of a sample without replacement.
        double mean = (double)repeats * each / members.Length;
        double evenness = count > 0 ? (members.Length - each) / (members.Length - 1.0) : 1;
        double square = times.Values.Sum(number => (number - mean) * (number - mean) / mean) / evenness;
        Assert.InRange(Deviations(square, members.Length - 1), -DeviationsMax, DeviationsMax);
    }

    // Wilson and Hilferty: the cube root of chi-square by its degrees of freedom is nearly normal.
    private static double Deviations(double square, int degrees)
    {
        double variance = 2.0 / (9 * degrees);
        return (Math.Cbrt(square / degrees) - (1 - variance)) / Math.Sqrt(variance);
    }

    private string[] Fill(string command, Shape shape)
    {
        bool removes = shape is Shape.TableAfterRemoval or Shape.PackedAfterRemoval;
        int packedMax = shape is Shape.Packed or Shape.PackedAfterRemoval ? 4_000 : 10;
        foreach (string type in (string[])["set", "hash", "zset"]) Run($"CONFIG SET {type}-max-listpack-entries {packedMax}").IsOk();
        int stay = shape == Shape.Table ? 150 : 60;
        int count = removes ? stay * RemovedShare : stay;
        string[] all = [.. Enumerable.Range(0, count).Select(i => shape == Shape.Integers ? i.ToString(CultureInfo.InvariantCulture) : $"m{i}")];
        foreach (string member in all) Run(command switch { "HRANDFIELD" => $"HSET k {member} v", "ZRANDMEMBER" => $"ZADD k {member.AsSpan(1)} {member}", _ => $"SADD k {member}" }).IsInteger(1);
        string[] members = removes ? [.. all.Where((_, i) => i % RemovedShare == 0)] : all;
        string remove = command switch { "HRANDFIELD" => "HDEL", "ZRANDMEMBER" => "ZREM", _ => "SREM" };
        foreach (string member in all.Except(members)) Run($"{remove} k {member}").IsInteger(1);
        string expected = shape switch { Shape.Integers => "intset", Shape.Packed or Shape.PackedAfterRemoval => "listpack", _ => command == "ZRANDMEMBER" ? "skiplist" : "hashtable" };
        Assert.Equal(expected, Run("OBJECT ENCODING k").Text);
        return members;
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
