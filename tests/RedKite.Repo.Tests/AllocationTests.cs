using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// Commands execute with keys locked, where an exception that escapes ends the process: memory that cannot be had is one. So every allocation
/// there whose size is computed is reviewed: allocations.tsv says what bounds it. A new one fails here until its row is written; its size must be
/// bounded by a constant, by the request, or by the data that it is about.
/// </summary>
public sealed class AllocationTests
{
    private const string ListPath = "tests/RedKite.Repo.Tests/allocations.tsv";

    private static readonly string[] Folders = ["src/RedKite.Commands", "src/RedKite.Json", "src/RedKite.Sketches", "src/RedKite.TimeSeries", "src/RedKite.Administration", "src/RedKite.Execution/Execution", "src/RedKite.Core/Changes", "src/RedKite.Store"];

    // The size is what is in the last brackets or parentheses.
    private static readonly Regex Allocation = new(
        @"new [\w.<>?]+\[(?<size>[^;=\[\]]+(?:\[[^\]]*\])?[^;=\]]*)\]" +
        @"|(?:stackalloc \w+)\[(?<size>[^\]]+)\]" +
        @"|(?:Shared\.Rent|NativeMemory\.\w*[aA]lloc\w*|Array\.Resize|GC\.Allocate\w+<\w+>|EnsureCapacity|new string|new (?:List|NativeList|Dictionary|HashSet|Stack|Queue|StringBuilder|MemoryStream|ArrayBufferWriter|BitArray)(?:<[^;()]*?>)?)\((?<size>(?>[^()]+|\((?<depth>)|\)(?<-depth>))*(?(depth)(?!)))\)" +
        @"|(?<![\w.""])(?!u8\.)(?<size>[\w.]+(?:\[[^\]]*\]|\([^()]*\))*)\.ToArray\(\)");

    // A variable, a field or a property of one, or a property of the type itself that is named as sizes are: constants begin with a capital letter.
    private static readonly Regex Computed = new(@"(?<![\w.])(?:Count|Length|Capacity|Size|Bytes)\b|(?<![\w.])(?!(?:sizeof|int|uint|long|ulong|byte|nuint|nint|checked|ref|pinned|true|false|static|default)\b)[a-z_]\w*");

    [Fact]
    public void Allocations_whose_size_is_computed_are_reviewed()
    {
        string[] found = [.. Folders.SelectMany(folder => Repository.Files(folder, ".cs")).SelectMany(path => Of(Repository.Read(path)).Select(form => $"{Path.GetFileName(path)}\t{form}")).Distinct().Order(StringComparer.Ordinal)];
        Dictionary<string, string> reviewed = Repository.Read(ListPath).Split('\n', StringSplitOptions.RemoveEmptyEntries).Skip(1)
            .Select(line => line.Split('\t')).ToDictionary(cells => $"{cells[0]}\t{cells[1]}", cells => cells.Length > 2 ? cells[2].Trim() : "");
        Repository.AssertNone([
            .. found.Where(row => !reviewed.TryGetValue(row, out string? bound) || bound.Length == 0).Select(row => $"{ListPath} does not say what bounds: {row}"),
            .. reviewed.Keys.Except(found).Select(row => $"{ListPath} names what is not there: {row}"),
        ]);
    }

    [Theory]
    [InlineData("byte[] copy = new byte[length];", "new byte[length]")]
    [InlineData("int[] all = ArrayPool<int>.Shared.Rent((int)set.Count);", "Shared.Rent((int)set.Count)")]
    [InlineData("Span<byte> name = stackalloc byte[length];", "stackalloc byte[length]")]
    [InlineData("Array.Resize(ref _keys, _count * 2);", "Array.Resize(ref _keys, _count * 2)")]
    [InlineData("var names = new List<byte[]>(count);", "new List<byte[]>(count)")]
    [InlineData("using var drawn = new NativeList<nint>((int)count);", "new NativeList<nint>((int)count)")]
    [InlineData("_at = (byte*)NativeMemory.Realloc(_at, (nuint)bytes);", "NativeMemory.Realloc(_at, (nuint)bytes)")]
    [InlineData("var text = new StringBuilder(pattern.Length * 2);", "new StringBuilder(pattern.Length * 2)")]
    [InlineData("Key[] keys = ArrayPool<Key>.Shared.Rent(Count * 2);", "Shared.Rent(Count * 2)")]
    [InlineData("names.Add(entry.Key.ToArray());", "entry.Key.ToArray()")]
    [InlineData("byte[] name = cmd[++i].ToArray();", "cmd[++i].ToArray()")]
    [InlineData("_line = input[..end].ToArray();", "input[..end].ToArray()")]
    [InlineData("byte[] word = \"word\"u8.ToArray();", null)]
    [InlineData("byte[] fixedSize = new byte[BytesMax]; // new byte[length]", null)]
    [InlineData("Span<byte> digits = stackalloc byte[ExtendedDouble.ShortTextBytesMax];", null)]
    [InlineData("int[] numbers = new int[64];", null)]
    [InlineData("List<int> names = new();", null)]
    public void An_allocation_is_found(string source, string? form) => Assert.Equal(form is null ? [] : [form], Of(source).ToArray());

    private static IEnumerable<string> Of(string source) => Allocation.Matches(CSharpText.CodeOnly(source))
        .Where(match => Computed.IsMatch(match.Groups["size"].Value))
        .Select(match => Regex.Replace(match.Value, @"\s+", " "));
}
