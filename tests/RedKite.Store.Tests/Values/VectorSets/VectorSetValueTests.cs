using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Values.VectorSets;

public sealed class VectorSetValueTests
{
    [Theory]
    [InlineData(VectorQuantizationName.None)]
    [InlineData(VectorQuantizationName.Int8)]
    [InlineData(VectorQuantizationName.Binary)]
    public void Set_agrees_with_a_model_whatever_happens(VectorQuantizationName quantization) => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(random.Next(1, 70), 0, random.Next(4, 9), (VectorQuantization)quantization));
        for (int step = 0; step < 1_500; step++)
        {
            // Mostly more, then mostly fewer, down to none.
            bool grows = random.Next(10) < (step < 700 ? 7 : 3);
            if (grows || world.Count == 0)
            {
                string? attributes = random.Next(3) == 0 ? new string('a', random.Next(0, 40)) : null;
                world.Add(VectorSetWorld.Name(random.Next(400)), VectorSetWorld.Vector(random, world.Dimensions), random.Next(1, 60), attributes);
            }
            else
            {
                world.Remove(random.Next(4) == 0 ? "missing" : world.NameAt(random));
            }

            if (step % 50 == 0) world.Check();
        }

        world.Check();
        world.RemoveKeyAndCheckMemory();
    });

    // Replicas, logs and files of earlier versions have these signs.
    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 64)]
    [InlineData(7, 19)]
    [InlineData(70, 100)]
    public void Projection_is_the_same_everywhere(int dimensions, int from)
    {
        using var world = new VectorSetWorld(new VectorSetForm(dimensions, from, 4, VectorQuantization.None));
        world.Add("e", new float[from]);
        float size = 1 / MathF.Sqrt(from);
        ulong state = ((ulong)from << 32) | (uint)dimensions;
        ulong bits = 0;
        ReadOnlySpan<float> floats = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, float>(world.Set.Projection);
        Assert.Equal(dimensions * from, floats.Length);
        for (int i = 0; i < floats.Length; i++, bits >>= 1)
        {
            if (i % 64 == 0) bits = SplitMix64(ref state);
            Assert.Equal((bits & 1) != 0 ? size : -size, floats[i]);
        }

        static ulong SplitMix64(ref ulong state)
        {
            state += 0x9E3779B97F4A7C15;
            ulong mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
            mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
            return mixed ^ (mixed >> 31);
        }
    }

    // However it is divided into parts, and whoever makes the projection. Of whole numbers and a size of a half, a quarter and so on, no sum is rounded in any order.
    [Theory]
    [InlineData(1, 4, 1)]
    [InlineData(48, 64, 1)]
    [InlineData(7, 256, 3_000)]
    [InlineData(100, 1_024, 20_000)]
    [InlineData(64, 16_384, 1)]
    [InlineData(64, 16_384, 4 << 20)]
    public void Projected_values_are_those_of_a_plain_loop(int dimensions, int from, long bytes) => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(dimensions, from, 4, VectorQuantization.None), guarded: from < 1_000);
        float[] vector = [.. Enumerable.Range(0, from).Select(_ => (float)random.Next(-8, 9))];
        for (int round = 0; round < 2; round++)
        {
            VectorSetValue set = world.OpenOrCreate();
            VectorSearch search = set.BeginAdding([.. vector], 10);
            int parts = 1;
            for (; !search.Run(set, bytes); parts++) search.Stop();
            Assert.InRange(parts, dimensions / (1 + (bytes / (from * sizeof(float)))), dimensions + 1);
            Assert.True(set.Add(Encoding.ASCII.GetBytes($"e{round}"), search, 10, default, keepsAttributes: false));
            search.Release();

            ReadOnlySpan<float> matrix = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, float>(set.Projection);
            float[] projected = new float[dimensions];
            for (int row = 0; row < dimensions; row++)
            {
                for (int i = 0; i < from; i++) projected[row] += matrix[(row * from) + i] * vector[i];
            }

            float norm = VectorCodec.Normalize(projected);
            VectorElement element = set.Find(Encoding.ASCII.GetBytes($"e{round}"));
            Assert.Equal(norm, element.Norm);
            Assert.Equal(System.Runtime.InteropServices.MemoryMarshal.AsBytes<float>(projected), element.Stored);
        }
    });

    [Fact]
    public void Exact_search_finds_the_nearest_in_order() => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(24, 0, 16, VectorQuantization.None));
        for (int i = 0; i < 300; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, 24));
        for (int i = 0; i < 20; i++)
        {
            float[] query = VectorSetWorld.Vector(random, 24);
            Assert.Equal(world.Nearest(query, 12), world.Scan(query, 12));
        }
    });

    [Theory]
    [InlineData(VectorQuantizationName.None, 0.99)]
    [InlineData(VectorQuantizationName.Int8, 0.97)]
    public void Search_by_the_graph_finds_what_an_exact_one_does(VectorQuantizationName quantization, double recallMin)
    {
        const int Elements = 10_000;
        const int Dimensions = 32;
        const int Queries = 100;
        var random = new Random(7);
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, 16, (VectorQuantization)quantization), guarded: false);
        float[][] centers = [.. Enumerable.Range(0, 50).Select(_ => VectorSetWorld.Vector(random, Dimensions))];
        for (int i = 0; i < Elements; i++) world.Add(VectorSetWorld.Name(i), Near(random, centers), effort: 100);
        int found = 0;
        for (int i = 0; i < Queries; i++)
        {
            float[] query = Near(random, centers);
            found += world.Scan(query, 10).Intersect(world.Search(query, 10, effort: 100)).Count();
        }

        Assert.True(found >= Queries * 10 * recallMin, $"{found} of {Queries * 10} were found.");
    }

    [Theory]
    [InlineData(VectorQuantizationName.None, 0)]
    [InlineData(VectorQuantizationName.Int8, 20)]
    [InlineData(VectorQuantizationName.Binary, 0)]
    public void Set_agrees_with_a_model_while_everything_moves(VectorQuantizationName quantization, int projectedFrom) => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(12, projectedFrom, 4, (VectorQuantization)quantization));
        var moves = new Defragmentation(world.Store, 0, 1);
        for (int step = 0; step < 400; step++)
        {
            if (random.Next(3) > 0 || world.Count == 0) world.Add(VectorSetWorld.Name(random.Next(80)), VectorSetWorld.Vector(random, projectedFrom > 0 ? projectedFrom : 12), random.Next(1, 30), random.Next(2) == 0 ? new string('a', random.Next(40)) : null);
            else world.Remove(world.NameAt(random));
            moves.MoveAll();
            if (step % 40 == 0) world.Check();
        }

        world.Check();
        world.RemoveKeyAndCheckMemory();
    });

    // Between its parts the set changes, and everything moves.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Search_in_parts_of_a_set_that_changes_finds_what_is_there(bool isExact) => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(10, 0, 6, VectorQuantization.Int8));
        var moves = new Defragmentation(world.Store, 0, 1);
        for (int i = 0; i < 300; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, 10), effort: 40);
        for (int round = 0; round < 30; round++)
        {
            VectorSetValue set = world.Set;
            VectorSearch search = set.Query(VectorSetWorld.Vector(random, 10)).Begin(new VectorSearchBounds(10, 200, IsExact: isExact));
            int parts = 0;
            while (!search.Run(world.Set, bytes: 500))
            {
                if (parts++ == 0) search.Stop();
                if (random.Next(3) == 0) world.Remove(world.NameAt(random));
                if (random.Next(3) == 0) world.Add(VectorSetWorld.Name(random.Next(600)), VectorSetWorld.Vector(random, 10), effort: 20);
                if (random.Next(8) == 0) moves.MoveAll();
            }

            Assert.InRange(parts, 1, int.MaxValue);
            ulong last = 0;
            foreach (ulong key in search.Results(world.Set))
            {
                Assert.True(key > last && world.Set.AtOrNone(DistanceKey.Number(key)).Exists);
                last = key;
            }

            search.Release();
            while (world.Count < 250) world.Add(VectorSetWorld.Name(random.Next(600)), VectorSetWorld.Vector(random, 10), effort: 20);
        }

        world.Check();
    });

    [Theory]
    [InlineData(VectorQuantizationName.None, 0)]
    [InlineData(VectorQuantizationName.Int8, 30)]
    [InlineData(VectorQuantizationName.Binary, 0)]
    public void Bytes_are_those_that_are_allocated(VectorQuantizationName quantization, int projectedFrom) => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(20, projectedFrom, 5, (VectorQuantization)quantization), guarded: false);
        var moves = new Defragmentation(world.Store, 0, 1);
        world.Add("first", VectorSetWorld.Vector(random, projectedFrom > 0 ? projectedFrom : 20));
        long? beside = world.BytesBeside;
        for (int step = 0; step < 3_000; step++)
        {
            bool grows = random.Next(10) < (step < 1_500 ? 7 : 3);
            if (grows || world.Count < 2) world.Add(VectorSetWorld.Name(random.Next(900)), VectorSetWorld.Vector(random, projectedFrom > 0 ? projectedFrom : 20), random.Next(1, 60), random.Next(3) == 0 ? new string('a', random.Next(400)) : null);
            else if (world.NameAt(random) is var name && name != "first") world.Remove(name);
            if (step % 200 == 0) moves.MoveAll();
            Assert.Equal(beside, world.BytesBeside);
        }
    });

    // As many links and dimensions as a client may ask for, and vectors of which none lies behind another.
    [Fact]
    public void Change_reads_no_more_than_its_limit()
    {
        const int Dimensions = VectorSetLimits.DimensionsMax;
        const int Elements = 60;
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, VectorSetLimits.LinksMax, VectorQuantization.None), guarded: false);
        long left = long.MaxValue;
        for (int i = 0; i < Elements; i++)
        {
            world.Add(VectorSetWorld.Name(i), Axis(i), effort: 1_000);
            left = Math.Min(left, VectorSearch.Scratch.ChangeWork);
        }

        Assert.InRange(left, -Dimensions * sizeof(float), 0);
        world.Check();
        Assert.Equal(Elements, world.Search(Axis(Elements), Elements, effort: Elements).Count);
        for (int i = 0; i < Elements; i += 2) world.Remove(VectorSetWorld.Name(i));
        world.Check();

        static float[] Axis(int number)
        {
            float[] vector = new float[Dimensions];
            vector[number] = 1;
            return vector;
        }
    }

    // A vector is a 256th of what a change may read, and all links are taken: whoever adds an element must make room, on each level and for each link.
    [Fact]
    public void Change_among_full_elements_reads_no_more_than_its_limit() => Randomness.Run(random =>
    {
        const int Dimensions = VectorSetLimits.DimensionsMax;
        const int Links = VectorSetLimits.LinksMin;
        const int Bytes = Dimensions * sizeof(float);
        int elements = TestScale.Of(72, 300);
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, Links, VectorQuantization.None), guarded: false);
        long least = long.MaxValue;
        for (int i = 0; i < elements; i++)
        {
            world.Add(VectorSetWorld.Name(i), Sparse(random), effort: 1_000);
            least = Math.Min(least, VectorSearch.Scratch.ChangeWork);
        }

        Assert.InRange(least, -4 * Links * Bytes, 0);
        Assert.True(Full(world) > elements / 2, "the elements are not full");
        for (int i = 0; i < elements / 2; i++)
        {
            if (i % 2 == 0) world.Add(VectorSetWorld.Name(i), Sparse(random), effort: 1_000); // removes it first, in the same change
            else world.Remove(VectorSetWorld.Name(i));
            Assert.InRange(VectorSearch.Scratch.ChangeWork, -4 * Links * Bytes, VectorSetLimits.ChangeBytesMax);
        }

        world.Check();

        static float[] Sparse(Random random)
        {
            float[] vector = new float[Dimensions];
            for (int i = 0; i < 50; i++) vector[random.Next(200)] = random.NextSingle();
            return vector;
        }

        static int Full(VectorSetWorld world)
        {
            int full = 0;
            for (int i = 0; i < world.Set.Numbers; i++) full += world.Set.AtOrNone(i).Links(0).Length == Links * 2 ? 1 : 0;
            return full;
        }
    });

    // With EF 1 each element is linked to the nearest alone, which all have in common. When that is removed, none has a link.
    [Theory]
    [InlineData(VectorSetLimits.LinksMax, 2_048, 8_192)]
    [InlineData(512, 16_384, 600)]
    [InlineData(512, VectorSetLimits.DimensionsMax, 1_000)]
    public void Removal_of_what_holds_all_others_reads_no_more_than_its_limit(int links, int dimensions, int elements)
    {
        elements = Math.Min(elements, TestScale.Of((4 << 20) / dimensions, 10_000));
        using var world = new VectorSetWorld(new VectorSetForm(dimensions, 0, links, VectorQuantization.Int8), guarded: false);
        float[] hub = new float[dimensions];
        Array.Fill(hub, 1);
        world.Add("hub", hub);
        var random = new Random(17);
        for (int i = 0; i < elements; i++) world.Add(VectorSetWorld.Name(i), Half(random, dimensions), effort: 1);
        Assert.InRange(world.Set.Find("hub"u8).Links(0).Length, elements * 9 / 10, links * 2);
        world.Remove("hub");
        int levels = world.Set.TopLevel + 1;
        Assert.InRange(VectorSearch.Scratch.ChangeWork, -30L * levels * dimensions, dimensions * (long)elements < VectorSetLimits.ChangeBytesMax ? VectorSetLimits.ChangeBytesMax : 0);
        world.Check();
        Assert.Equal(elements, world.Search(hub, elements, effort: elements).Count); // from where searches begin, all are reached

        // Half of the components, the first one always: nearer to the hub than to each other.
        static float[] Half(Random random, int dimensions)
        {
            float[] vector = new float[dimensions];
            for (int i = 0; i < dimensions; i++) vector[i] = random.Next(2);
            vector[0] = 1;
            return vector;
        }
    }

    // From 2,400 dimensions on, an addition may come to what a change reads: of 4,000 of these as floats, 210 did, and as signed bytes none.
    [Theory]
    [InlineData(VectorQuantizationName.None)]
    [InlineData(VectorQuantizationName.Int8)]
    public void Recall_of_vectors_that_are_linked_up_to_the_limit(VectorQuantizationName quantization)
    {
        const int Dimensions = 6_144;
        int elements = TestScale.Of(150, 4_000);
        const int Queries = 50;
        var random = new Random(23);
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, 16, (VectorQuantization)quantization), guarded: false);
        float[][] centers = [.. Enumerable.Range(0, Math.Max(1, elements / 100)).Select(_ => VectorSetWorld.Vector(random, Dimensions))];
        int limited = 0;
        for (int i = 0; i < elements; i++)
        {
            world.Add(VectorSetWorld.Name(i), Near(random, centers));
            if (VectorSearch.Scratch.ChangeWork <= 0) limited++;
        }

        int found = 0;
        for (int i = 0; i < Queries; i++)
        {
            float[] query = Near(random, centers);
            found += world.Scan(query, 10).Intersect(world.Search(query, 10, effort: 100)).Count();
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{found} of {Queries * 10} were found; {limited} of {elements} additions came to the limit.");
        Assert.True(found >= Queries * 10 * 0.95, $"{found} of {Queries * 10} were found.");
    }

    // Each new element has one link, to one that soon has no room.
    [Fact]
    public void Additions_that_look_at_one_element_leave_none_alone() => Randomness.Run(random =>
    {
        using var world = new VectorSetWorld(new VectorSetForm(50, 0, 4, VectorQuantization.Int8), guarded: false);
        for (int i = 0; i < 600; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, 50), effort: 1);
        world.Check();
    });

    [Fact]
    public void Recall_survives_the_removal_of_most_elements()
    {
        const int Dimensions = 24;
        var random = new Random(11);
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, 16, VectorQuantization.Int8), guarded: false);
        for (int i = 0; i < 4_000; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, Dimensions), effort: 60);
        for (int i = 0; i < 4_000; i++)
        {
            if (i % 5 != 0) world.Remove(VectorSetWorld.Name(i));
        }

        world.Check();
        int found = 0;
        for (int i = 0; i < 100; i++)
        {
            float[] query = VectorSetWorld.Vector(random, Dimensions);
            found += world.Scan(query, 10).Intersect(world.Search(query, 10, effort: 100)).Count();
        }

        Assert.True(found >= 950, $"{found} of 1000 were found.");
    }

    [Fact]
    public void Filter_is_asked_for_no_more_elements_than_allowed()
    {
        var random = new Random(3);
        using var world = new VectorSetWorld(new VectorSetForm(8, 0, 16, VectorQuantization.Int8));
        for (int i = 0; i < 500; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, 8), attributes: i % 2 == 0 ? "even" : "odd");
        int asked = 0;
        VectorSetValue set = world.Set;
        ReadOnlySpan<ulong> some = set.Query(VectorSetWorld.Vector(random, 8)).Search(10, (attributes, ref _) => attributes.SequenceEqual("even"u8) ? VectorMatch.Yes : VectorMatch.No, long.MaxValue);
        Assert.Equal(10, some.Length);
        foreach (ulong key in some) Assert.Equal("even", Encoding.ASCII.GetString(set.At(DistanceKey.Number(key)).Attributes));

        ReadOnlySpan<ulong> none = set.Query(VectorSetWorld.Vector(random, 8)).Search(10, (_, ref _) => ++asked < 0 ? VectorMatch.Yes : VectorMatch.No, 50);
        Assert.Equal(0, none.Length);
        Assert.InRange(asked, 1, 51);
    }

    [Fact]
    public void Projected_vectors_keep_their_neighbours()
    {
        var random = new Random(5);
        using var world = new VectorSetWorld(new VectorSetForm(64, 256, 16, VectorQuantization.Int8));
        float[][] centers = [.. Enumerable.Range(0, 20).Select(_ => VectorSetWorld.Vector(random, 256))];
        for (int i = 0; i < 400; i++) world.Add(VectorSetWorld.Name(i), VectorSetWorld.Vector(random, 256).Zip(centers[i % 20], (noise, center) => center + (noise * 0.2f)).ToArray());
        for (int i = 0; i < 20; i++)
        {
            foreach (string name in world.Search(centers[i], 10, 100)) Assert.Equal(i, int.Parse(name[8..], System.Globalization.CultureInfo.InvariantCulture) % 20);
        }

        world.RemoveKeyAndCheckMemory();
    }

    /// <summary>
    /// 100,000 vectors of 300 dimensions, with EF 200. In clusters, as real ones are, all are found. Of random ones no vector is much nearer than
    /// any other: what is found there shows that the graph is no worse than before.
    /// </summary>
    [Theory]
    [Long]
    [InlineData(false)]
    [InlineData(true)]
    public void Recall_with_many_dimensions(bool clustered)
    {
        const int Dimensions = 300;
        var random = new Random(13);
        using var world = new VectorSetWorld(new VectorSetForm(Dimensions, 0, 16, VectorQuantization.Int8), guarded: false);
        float[][] centers = [.. Enumerable.Range(0, 1_000).Select(_ => VectorSetWorld.Vector(random, Dimensions))];
        for (int i = 0; i < 100_000; i++) world.Add(VectorSetWorld.Name(i), clustered ? Near(random, centers) : VectorSetWorld.Vector(random, Dimensions));
        int found = 0;
        for (int i = 0; i < 200; i++)
        {
            float[] query = clustered ? Near(random, centers) : VectorSetWorld.Vector(random, Dimensions);
            found += world.Scan(query, 10).Intersect(world.Search(query, 10, effort: 200)).Count();
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{found} of 2000 were found.");
        Assert.True(found >= (clustered ? 1_980 : 520), $"{found} of 2000 were found.");
    }

    // Each has more elements than a node has links, all nearer to each other than to anything else.
    [Fact]
    public void Clusters_keep_their_links_to_each_other()
    {
        const int Elements = 3_000;
        const int Queries = 100;
        var random = new Random(19);
        using var world = new VectorSetWorld(new VectorSetForm(100, 0, 8, VectorQuantization.Int8), guarded: false);
        float[][] centers = [.. Enumerable.Range(0, 20).Select(_ => VectorSetWorld.Vector(random, 100))];
        for (int i = 0; i < Elements; i++) world.Add(VectorSetWorld.Name(i), Near(random, centers, noise: 0.02f), effort: 100);
        int found = 0;
        for (int i = 0; i < Queries; i++)
        {
            float[] query = Near(random, centers, noise: 0.02f);
            found += world.Scan(query, 10).Intersect(world.Search(query, 10, effort: 200)).Count();
        }

        Assert.True(found >= Queries * 10 * 0.99, $"{found} of {Queries * 10} were found.");
    }

    private static float[] Near(Random random, float[][] centers, float noise = 0.5f)
    {
        float[] center = centers[random.Next(centers.Length)];
        float[] vector = VectorSetWorld.Vector(random, center.Length);
        for (int i = 0; i < vector.Length; i++) vector[i] = center[i] + (vector[i] * noise);
        return vector;
    }
}

/// <summary>The values of VectorQuantization, which is internal.</summary>
public enum VectorQuantizationName
{
    None,
    Int8,
    Binary,
}
