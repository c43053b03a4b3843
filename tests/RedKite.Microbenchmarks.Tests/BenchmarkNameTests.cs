using RedKite.TestSupport;

namespace RedKite.Microbenchmarks.Tests;

/// <summary>Microbenchmarks are named after the code they measure, and every structure of the store has one.</summary>
public class BenchmarkNameTests
{
    private const string Suffix = "Benchmarks";

    private static readonly string[] Structures =
    [
        "ArrayData", "BitCombination", "BitString", "CompactList", "HyperLogLog", "IdTree", "IntSet", "MemberPairs", "MemberTable", "NamedTable",
        "PackedList", "QuickList", "ScoreTree", "StreamAppender", "StreamData", "StreamGroupData", "StreamProducers", "VectorGraph",
    ];

    // Blocks, positions, readers and limits of a structure need no benchmark of their own, though some have one.
    private static readonly Dictionary<string, string> PartsOfStructures = new()
    {
        ["ArrayCursor"] = "ArrayData",
        ["ArraySlice"] = "ArrayData",
        ["ArrayWord"] = "ArrayData",
        ["CanonicalInteger"] = "PackedList",
        ["CompactAlphabet"] = "CompactList",
        ["CompactText"] = "StreamAppender",
        ["DenseRegisters"] = "HyperLogLog",
        ["DistanceHeap"] = "VectorGraph",
        ["ExpiryReport"] = "MemberTable",
        ["HashField"] = "MemberTable",
        ["IElementReader"] = "PackedList",
        ["IMemberLayout"] = "MemberTable",
        ["ListLimits"] = "QuickList",
        ["ListReader"] = "QuickList",
        ["MemberBucket"] = "MemberTable",
        ["MemberBuckets"] = "MemberTable",
        ["MemberPosition"] = "MemberTable",
        ["MemberTableMoving"] = "MemberTable",
        ["PackedElement"] = "PackedList",
        ["PackedListReader"] = "PackedList",
        ["PackedListWriter"] = "PackedList",
        ["PackedScore"] = "PackedList",
        ["ProducerCursor"] = "StreamProducers",
        ["QuickListEnds"] = "QuickList",
        ["QuickListHeader"] = "QuickList",
        ["QuickListInsertion"] = "QuickList",
        ["QuickListMoving"] = "QuickList",
        ["QuickListPage"] = "QuickList",
        ["ScoreTreeBounds"] = "ScoreTree",
        ["ScoreTreeMoving"] = "ScoreTree",
        ["ScoreTreeNodes"] = "ScoreTree",
        ["ScoreTreePosition"] = "ScoreTree",
        ["ScoredMember"] = "ScoreTree",
        ["SetMember"] = "MemberTable",
        ["SparseRegisters"] = "HyperLogLog",
        ["StreamCursor"] = "StreamData",
        ["StreamId"] = "IdTree",
        ["StreamNode"] = "StreamData",
        ["StreamProducerData"] = "StreamProducers",
        ["StreamReferences"] = "StreamGroupData",
        ["StreamTrimming"] = "StreamData",
        ["Varint"] = "StreamAppender",
        ["VectorCodec"] = "VectorGraph",
        ["VectorDistance"] = "VectorGraph",
        ["VectorElement"] = "VectorGraph",
        ["VectorGraphChange"] = "VectorGraph",
        ["VectorGraphReader"] = "VectorGraph",
        ["VectorNode"] = "VectorGraph",
        ["VectorQuantization"] = "VectorGraph",
        ["VectorSearch"] = "VectorGraph",
        ["VectorScratch"] = "VectorGraph",
        ["VectorSetData"] = "VectorGraph",
        ["WarmLists"] = "QuickList",
    };

    // Values combine the structures above, whose benchmarks cover them.
    private static readonly string[] Values =
    [
        "ArrayCopy", "ArrayType", "ArrayValue", "BlockCopy", "BlockMover", "EncodingNames", "FactCounts", "FieldExpiry", "FreeingSlice", "HashFields", "HashLimits", "HashTable", "HashType", "HashValue", "HyperLogLogSelfTest", "HyperLogLogValue", "IExpiringElements",
        "ListCopy", "ListNodes", "ListType", "ListValue", "MemberTableCopy", "PackedSortedSet", "ReleasedValues", "ScoredSource", "SetEnumerator", "SetExpiry", "SetLimits",
        "SetSelection", "SetTable", "SetType", "SetValue", "SetView", "SortedSetBuilder", "SortedSetCopy", "SortedSetCursor", "SortedSetMember", "SortedSetStructure",
        "SortedSetType", "SortedSetValue", "StoredType", "StoredTypes", "StreamCopy", "StreamGroup", "StreamListPacks", "StreamProgress", "StreamType", "StreamValue", "StringLimits",
        "StringType", "StructureCopy", "ValueRoot", "VectorProjection", "VectorSetDraft", "VectorSetLimits", "VectorSetType", "VectorSetValue",
    ];

    [Fact]
    public void Class_names_match_the_code_they_measure_and_their_file()
    {
        string[] sources = [.. StemsBelow("src")];
        string[] benchmarks = [.. StemsBelow("bench/Microbenchmarks")];
        AssertNone(BenchmarkClasses.All.SelectMany(type => NameViolations(type.Name, sources, benchmarks)));
    }

    [Theory]
    [InlineData("TableBenchmarks", 0)]
    [InlineData("GoneBenchmarks", 1)]
    [InlineData("ElsewhereBenchmarks", 1)]
    [InlineData("Table", 1)]
    public void Misnamed_class_is_reported(string name, int violations) =>
        Assert.Equal(violations, NameViolations(name, ["Table", "Elsewhere"], ["TableBenchmarks", "GoneBenchmarks", "Table"]).Count());

    [Fact]
    public void Every_store_structure_has_a_benchmark()
    {
        string[] stems = [.. StemsBelow("src/RedKite.Store/Values")];
        string[] benchmarks = [.. BenchmarkClasses.All.Select(type => type.Name)];
        AssertNone(StructureViolations(stems, benchmarks));
        Assert.Empty(Structures.Concat(PartsOfStructures.Keys).Concat(Values).Except(stems));
        Assert.Empty(PartsOfStructures.Values.Except(Structures));
    }

    [Theory]
    [InlineData("IntSet", 0)]
    [InlineData("SetMember", 0)]
    [InlineData("SetValue", 0)]
    [InlineData("IdTree", 1)]
    [InlineData("NewStructure", 1)]
    public void Structure_without_a_benchmark_is_reported(string stem, int violations) =>
        Assert.Equal(violations, StructureViolations([stem], ["IntSetBenchmarks"]).Count());

    private static IEnumerable<string> NameViolations(string name, string[] sources, string[] benchmarks)
    {
        if (!benchmarks.Contains(name)) yield return $"{name}: no file of this name";
        else if (!name.EndsWith(Suffix, StringComparison.Ordinal) || !sources.Contains(name[..^Suffix.Length])) yield return $"{name}: no file under src has this stem";
    }

    private static IEnumerable<string> StructureViolations(string[] stems, string[] benchmarks)
    {
        foreach (string stem in stems)
        {
            if (PartsOfStructures.ContainsKey(stem) || Values.Contains(stem)) continue;
            if (!Structures.Contains(stem)) yield return $"{stem}: neither a structure, a part of one nor a value; classify it here";
            else if (!benchmarks.Contains(stem + Suffix)) yield return $"{stem}: no microbenchmark";
        }
    }

    // Build output is below artifacts/, not here.
    private static IEnumerable<string> StemsBelow(string folder) => Directory
        .EnumerateFiles(Path.Combine(RepositoryRoot.Path, folder), "*.cs", SearchOption.AllDirectories)
        .Select(path => Path.GetFileNameWithoutExtension(path));

    private static void AssertNone(IEnumerable<string> violations)
    {
        string found = string.Join('\n', violations);
        Assert.True(found.Length == 0, found);
    }
}
