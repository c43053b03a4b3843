using System.Text;

namespace RedKite.Scripting;

/// <summary>
/// The functions of <see cref="Prelude"/>, each of which is compiled where it is first used: an interpreter has only those that its scripts use.
/// </summary>
/// <remarks>
/// <para>
/// A part begins with a line <c>--- name</c>, and returns what has that name: a global of the prelude, or the member of a table that scripts see
/// (<c>string.rep</c>; <c>G</c> is the table of globals). It may use any global of the prelude, and so other parts. What a function uses in each
/// call is a local: that is faster. What it uses for errors is not: that takes no memory until there is one.
/// </para>
/// <para>Measured, with one short script: 15 KiB; with each library compiled as a whole 66, with everything compiled at the start 105.</para>
/// </remarks>
internal static class PreludeParts
{
    private const string Begin = "--- ";

    // What is shared with the core. Of each function, only the variables that it uses are.
    private static readonly byte[] Head = "local interrupted, rawlen, G return function()\n"u8.ToArray();

    private static readonly Dictionary<string, string> Texts = Split(
        PreludeBasics.Source, PreludeStrings.Source, PreludeTables.Source, PreludeLibraries.Source,
        Each("math", "abs acos asin cos deg exp rad sin sqrt tan huge pi", "return math.{0}"),
        Each("math", "atan atan2 cosh frexp ldexp log log10 pow random randomseed sinh tanh", "return managed(raw['math.{0}'])"),
        Each("bit", "tobit tohex bnot band bor bxor lshift rshift arshift rol ror bswap", "return managed(raw['bit.{0}'])"),
        Each("cjson", "encode encode_sparse_array encode_max_depth decode_max_depth encode_number_precision encode_keep_buffer encode_invalid_numbers decode_invalid_numbers", "return managed(raw['cjson.{0}'])"),
        Each("cmsgpack", "pack unpack unpack_one unpack_limit", "return managed(raw['cmsgpack.{0}'])"),
        Each("struct", "pack unpack size", "return managed(raw['struct.{0}'])"),
        Each("redis", "sha1hex log setresp set_repl acl_check_cmd", "return managedReply(raw['redis.{0}'])"));

    /// <summary>The variables of the core that parts share, in the order of its function holder; the first is the flag (<see cref="Interop.InterruptFlag"/>).</summary>
    internal static byte[][] Shared { get; } = ["interrupted"u8.ToArray(), "rawlen"u8.ToArray(), "G"u8.ToArray(), "_ENV"u8.ToArray()];

    internal static IEnumerable<string> Names => Texts.Keys;

    /// <summary>The text of a part: a chunk that returns the function whose result it is; null: there is none of that name.</summary>
    internal static byte[]? TextOf(string name) => Texts.TryGetValue(name, out string? text) ? [.. Head, .. Encoding.Latin1.GetBytes(text), .. "\nend"u8] : null;

    /// <summary>The names of a table's members, separated by spaces. Scripts add two to the globals.</summary>
    internal static string NamesOf(string prefix) => (prefix == "G" ? "KEYS ARGV " : "") + string.Join(' ', Texts.Keys.Where(name => name.StartsWith(prefix + ".", StringComparison.Ordinal)).Select(name => name[(prefix.Length + 1)..]));

    private static string Each(string prefix, string names, string text) =>
        string.Join('\n', names.Split(' ').Select(name => $"{Begin}{prefix}.{name}\n{text.Replace("{0}", name, StringComparison.Ordinal)}"));

    private static Dictionary<string, string> Split(params string[] sources)
    {
        var texts = new Dictionary<string, string>(StringComparer.Ordinal);
        foreach (string part in sources.SelectMany(source => ("\n" + source).Split("\n" + Begin, StringSplitOptions.RemoveEmptyEntries)))
        {
            int end = part.IndexOf('\n', StringComparison.Ordinal);
            texts.Add(part[..end], part[(end + 1)..]);
        }

        return texts;
    }
}
