using System.Globalization;

namespace RedKite.Server.Config;

// A row of the table of settings: its shape, its effect, and one factory for each kind of value.

[Flags]
internal enum SettingFlags
{
    None = 0,

    /// <summary>CONFIG SET is refused: the value is read once, when the server starts.</summary>
    Immutable = 1,

    /// <summary>CONFIG SET is refused unless enable-protected-configs allows it.</summary>
    Protected = 2,

    /// <summary>The value is a secret: it appears in no log and no error message.</summary>
    Sensitive = 4,

    /// <summary>CONFIG GET shows it only by its exact name.</summary>
    Hidden = 8,

    /// <summary>The value is a list of words: CONFIG SET splits its one argument at spaces.</summary>
    MultipleArguments = 16,

    /// <summary>Several lines of the file add up; the first one replaces the default.</summary>
    Accumulates = 32,

    /// <summary>CONFIG SET to the current value counts as a change: the file that it names may have new content, or the value is more than what is shown.</summary>
    Reapplied = 64,

    /// <summary>CONFIG SET is refused while data is loaded, in place of other data or beside it.</summary>
    NotWhileLoading = 128,
}

/// <summary>Values that RedKite refuses, because a server that ignored them would be dangerous.</summary>
/// <param name="Values">Which values, for the documentation.</param>
/// <param name="Applies">Whether the settings have such a value.</param>
/// <param name="Reason">A clause that says what is missing and what ignoring the value would do.</param>
internal sealed record SettingRefusal(string Values, Func<Settings, bool> Applies, string Reason);

/// <summary>The ways to write a value to a rewritten file; the row's parser determines how it is read.</summary>
internal enum SettingKind
{
    Plain,
    Memory,
    Text,
    Lines,
}

/// <summary>
/// Parses a value. Returns null and the canonical text (the reply to CONFIG GET), or Redis's error text.
/// </summary>
/// <param name="words">The words of the value; exactly one unless the row takes several.</param>
/// <param name="current">The canonical text that the value replaces or adds to.</param>
/// <param name="canonical">The new canonical text.</param>
internal delegate string? SettingParser(ReadOnlySpan<string> words, string current, out string canonical);

/// <summary>
/// One row of the table of settings: the only declaration of a setting. Its value is exchanged as canonical text: the
/// parser produces it, <see cref="Write"/> stores it in <see cref="Settings"/> (in a typed property, or as text if no code
/// reads the value), and <see cref="Read"/> returns it.
/// </summary>
/// <remarks>
/// A setting works, or it has no effect here for a stated reason, or some of its values are refused for a stated reason.
/// Nothing is ignored silently: see <see cref="Configuration.CheckAtStart"/>.
/// </remarks>
internal sealed class Setting
{
    private Setting(string name, string? alias, SettingFlags flags, SettingKind kind, string defaultText, SettingParser parse)
    {
        Name = name;
        Alias = alias;
        Flags = flags;
        Kind = kind;
        DefaultText = defaultText;
        Parse = parse;
        Read = settings => settings.Remembered[name];
        Write = (settings, text) => settings.Remembered[name] = text;
    }

    private Setting(Setting other)
    {
        (Name, Alias, Flags, Kind, DefaultText, Parse) = (other.Name, other.Alias, other.Flags, other.Kind, other.DefaultText, other.Parse);
        (Read, Write, IsTyped) = (other.Read, other.Write, other.IsTyped);
        (Expected, ToLines, AlwaysRewritten, KeepsEmpty) = (other.Expected, other.ToLines, other.AlwaysRewritten, other.KeepsEmpty);
        (NoEffect, Refusal, Remark) = (other.NoEffect, other.Refusal, other.Remark);
    }

    internal string Name { get; }

    internal string? Alias { get; }

    internal SettingFlags Flags { get; }

    internal SettingKind Kind { get; }

    internal string DefaultText { get; }

    internal SettingParser Parse { get; }

    internal Func<Settings, string> Read { get; private init; }

    internal Action<Settings, string> Write { get; private init; }

    /// <summary>The allowed values, for messages about a bad line and for the documentation; null: the parser's error text has them.</summary>
    internal string? Expected { get; private init; }

    /// <summary>Returns the values of this setting's lines in a rewritten file (kind Lines).</summary>
    internal Func<string, IEnumerable<string>>? ToLines { get; private init; }

    /// <summary>A rewritten file always states the value, even the default.</summary>
    internal bool AlwaysRewritten { get; private init; }

    /// <summary>A rewritten file keeps a line with the empty default; lines of other settings whose value is empty are removed.</summary>
    internal bool KeepsEmpty { get; private init; }

    /// <summary>Whether code reads the value, through a property of <see cref="Settings"/>.</summary>
    internal bool IsTyped { get; private init; }

    /// <summary>Why the setting has no effect in RedKite, a clause; null: it has one.</summary>
    internal string? NoEffect { get; private init; }

    /// <summary>The values that are refused; null: none.</summary>
    internal SettingRefusal? Refusal { get; private init; }

    /// <summary>The documentation's remark about a setting that works; null: none.</summary>
    internal string? Remark { get; private init; }

    /// <summary>Returns the row for a setting whose line stays in a rewritten file if it is empty.</summary>
    internal Setting KeepingEmpty() => new(this) { KeepsEmpty = true };

    /// <summary>Returns the row for a setting without an effect: using it is a warning.</summary>
    /// <param name="reason">Why, as a clause: "there are no modules".</param>
    internal Setting WithoutEffect(string reason) => new(this) { NoEffect = reason };

    /// <summary>Returns the row for a setting that may only have its default value.</summary>
    /// <param name="reason">What is missing and what ignoring the setting would do, as a clause.</param>
    internal Setting RefusedUnlessDefault(string reason) => Refused(
        $"any but {(DefaultText.Length == 0 ? "the empty one" : $"`{DefaultText}`")}", settings => Read(settings) != DefaultText, reason);

    /// <summary>Returns the row with values that are refused, which may depend on other settings.</summary>
    internal Setting Refused(string values, Func<Settings, bool> applies, string reason) =>
        new(this) { Refusal = new SettingRefusal(values, applies, reason) };

    /// <summary>Returns the row with a remark for the documentation.</summary>
    internal Setting WithRemark(string remark) => new(this) { Remark = remark };

    internal bool Has(SettingFlags flag) => (Flags & flag) != 0;

    private const string OfModule = "as in Redis 8, which has it with the module `bf`: the default of new filters";

    internal static Setting Flag(
        string name, bool defaultValue, Func<Settings, bool>? get = null, Action<Settings, bool>? set = null,
        string? alias = null, SettingFlags flags = SettingFlags.None)
    {
        Setting row = new(name, alias, flags, SettingKind.Plain, YesOrNo(defaultValue), ParseFlag) { Expected = "yes or no" };
        return get is null || set is null ? row : row.With(s => YesOrNo(get(s)), (s, text) => set(s, text == "yes"));
    }

    internal static Setting Integer(
        string name, long minimum, long maximum, long defaultValue,
        Func<Settings, long>? get = null, Action<Settings, long>? set = null,
        string? alias = null, SettingFlags flags = SettingFlags.None)
    {
        string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            canonical = words[0];
            if (!TryParseInteger(words[0], out long value)) return "argument couldn't be parsed into an integer";
            return value < minimum || value > maximum ? OutOfRange(Digits(minimum), Digits(maximum)) : null;
        }

        Setting row = new(name, alias, flags, SettingKind.Plain, Digits(defaultValue), Parse)
        {
            Expected = $"an integer from {Digits(minimum)} to {Digits(maximum)}",
        };
        return get is null || set is null
            ? row
            : row.With(s => Digits(get(s)), (s, text) => set(s, long.Parse(text, CultureInfo.InvariantCulture)));
    }

    /// <summary>An integer of a module of Redis: only its error is another one.</summary>
    internal static Setting Range(string name, int minimum, int maximum, int defaultValue, Func<Settings, int> get, Action<Settings, int> set)
    {
        string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            canonical = words[0];
            if (!TryParseInteger(words[0], out long value)) return "argument couldn't be parsed into an integer";
            return value < minimum || value > maximum ? string.Create(CultureInfo.InvariantCulture, $"value must be in the range [{minimum}, {maximum}]") : null;
        }

        return new Setting(name, null, SettingFlags.None, SettingKind.Plain, Digits(defaultValue), Parse) { Expected = $"an integer from {Digits(minimum)} to {Digits(maximum)}" }
            .With(s => Digits(get(s)), (s, text) => set(s, int.Parse(text, CultureInfo.InvariantCulture))).WithRemark(OfModule);
    }

    /// <summary>A part of a whole, between 0 and 1 without them.</summary>
    internal static Setting Fraction(string name, string defaultText, Func<Settings, double> get, Action<Settings, double> set)
    {
        static string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            canonical = words[0];
            if (!double.TryParse(words[0], NumberStyles.Float, CultureInfo.InvariantCulture, out double value) || double.IsNaN(value)) return "argument couldn't be parsed into a number";
            canonical = value.ToString("R", CultureInfo.InvariantCulture);
            return value is > 0 and < 1 ? null : "value must be in the range (0.000000, 1.000000)";
        }

        return new Setting(name, null, SettingFlags.None, SettingKind.Plain, defaultText, Parse) { Expected = "a number between 0 and 1" }
            .With(s => get(s).ToString("R", CultureInfo.InvariantCulture), (s, text) => set(s, double.Parse(text, CultureInfo.InvariantCulture))).WithRemark(OfModule);
    }

    /// <summary>A file mode in octal digits, 0 to 777.</summary>
    internal static Setting Octal(string name, Func<Settings, int> get, Action<Settings, int> set, SettingFlags flags)
    {
        static string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            canonical = words[0];
            bool octal = canonical.Length is > 0 and < 20 && canonical.AsSpan().IndexOfAnyExceptInRange('0', '7') < 0;
            if (!octal) return "argument couldn't be parsed as an octal number";
            canonical = canonical.TrimStart('0');
            if (canonical.Length == 0) canonical = "0";
            return canonical.Length > 3 ? OutOfRange("0", "777") : null;
        }

        return new Setting(name, null, flags, SettingKind.Plain, "0", Parse) { Expected = "an octal number from 0 to 777" }
            .With(s => Convert.ToString(get(s), 8), (s, text) => set(s, Convert.ToInt32(text, 8)));
    }

    /// <summary>A size in bytes. Accepted sizes below <paramref name="raisedTo"/> become that size.</summary>
    internal static Setting Memory(
        string name, ulong minimum, ulong maximum, ulong defaultValue,
        Func<Settings, ulong>? get = null, Action<Settings, ulong>? set = null,
        string? alias = null, SettingFlags flags = SettingFlags.None, ulong raisedTo = 0)
    {
        string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            bool parsed = MemorySize.TryParse(words[0], out ulong bytes);
            canonical = Math.Max(bytes, raisedTo).ToString(CultureInfo.InvariantCulture);
            if (!parsed) return "argument must be a memory value";
            return bytes < minimum || bytes > maximum ? OutOfRange($"{minimum}", $"{maximum}") : null;
        }

        string defaultText = defaultValue.ToString(CultureInfo.InvariantCulture);
        Setting row = new(name, alias, flags, SettingKind.Memory, defaultText, Parse)
        {
            Expected = $"a size from {minimum} to {maximum} bytes, with b, k, kb, m, mb, g or gb",
        };
        return get is null || set is null
            ? row
            : row.With(
                s => get(s).ToString(CultureInfo.InvariantCulture),
                (s, text) => set(s, ulong.Parse(text, CultureInfo.InvariantCulture)));
    }

    /// <summary>A size, or a share of maxmemory in percent: the typed value is then negative.</summary>
    internal static Setting MemoryOrPercent(string name, Func<Settings, long> get, Action<Settings, long> set) =>
        new Setting(name, null, SettingFlags.None, SettingKind.Memory, "0", SettingParsers.MemoryOrPercent)
        {
            Expected = "a size in bytes, with b, k, kb, m, mb, g or gb, or a percentage from 0% to 100%",
        }.With(
            s => string.Create(CultureInfo.InvariantCulture, $"{Math.Abs(get(s))}{(get(s) < 0 ? "%" : "")}"),
            (s, text) => set(s, text.EndsWith('%') ? -long.Parse(text[..^1], CultureInfo.InvariantCulture) : long.Parse(text, CultureInfo.InvariantCulture)));

    /// <summary>
    /// One of several words; the typed value is the word's index. <paramref name="sameAs"/>: a synonym, and the word that
    /// CONFIG GET replies for it. <paramref name="further"/>: a last word that errors do not list, because Redis does not have it.
    /// </summary>
    internal static Setting Choice(
        string name, string[] choices, string defaultText,
        Func<Settings, int>? get = null, Action<Settings, int>? set = null,
        SettingFlags flags = SettingFlags.None, (string Word, string Answered)? sameAs = null, string? further = null)
    {
        string[] listed = choices;
        if (further is not null) choices = [.. choices, further];

        string? Parse(ReadOnlySpan<string> words, string current, out string canonical)
        {
            int index = IndexOfWord(choices, words[0]);
            canonical = index < 0 ? "" : choices[index];
            if (sameAs is { } same && canonical == same.Word) canonical = same.Answered;
            return index < 0 ? NotAChoice(listed) : null;
        }

        Setting row = new(name, null, flags, SettingKind.Plain, defaultText, Parse)
        {
            Expected = $"one of {string.Join(", ", choices)}",
        };
        return get is null || set is null
            ? row
            : row.With(s => choices[get(s)], (s, text) => set(s, Array.IndexOf(choices, text)));
    }

    internal static Setting Text(
        string name, string defaultText, Func<Settings, string>? get = null, Action<Settings, string>? set = null,
        string? alias = null, SettingFlags flags = SettingFlags.None, SettingParser? parse = null)
    {
        Setting row = new(name, alias, flags, SettingKind.Text, defaultText, parse ?? SettingParsers.AnyText);
        return get is null || set is null ? row : row.With(get, set);
    }

    /// <summary>A path: the typed value is the operating system's string, the text has its bytes.</summary>
    internal static Setting FilePath(
        string name, string defaultText, Func<Settings, string> get, Action<Settings, string> set,
        SettingFlags flags = SettingFlags.None, SettingParser? parse = null, bool alwaysRewritten = false) =>
        new Setting(name, null, flags, SettingKind.Text, defaultText, parse ?? SettingParsers.AnyText)
        {
            AlwaysRewritten = alwaysRewritten,
        }.With(s => SettingText.FromNative(get(s)), (s, text) => set(s, SettingText.ToNative(text)));

    /// <summary>A setting with a grammar of its own. Without <paramref name="toLines"/> it is one plain line.</summary>
    internal static Setting Special(
        string name, string defaultText, SettingParser parse,
        Func<Settings, string>? get = null, Action<Settings, string>? set = null,
        string? alias = null, SettingFlags flags = SettingFlags.None,
        Func<string, IEnumerable<string>>? toLines = null, bool alwaysRewritten = false)
    {
        Setting row = new(name, alias, flags, toLines is null ? SettingKind.Plain : SettingKind.Lines, defaultText, parse)
        {
            ToLines = toLines,
            AlwaysRewritten = alwaysRewritten,
        };
        return get is null || set is null ? row : row.With(get, set);
    }

    /// <summary>Digits with an optional minus and nothing else: no plus, no leading zero, no space.</summary>
    internal static bool TryParseInteger(string text, out long value) =>
        long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value) && Digits(value) == text;

    internal static string NotAChoice(string[] choices) =>
        $"argument(s) must be one of the following: {string.Join(", ", choices)}";

    internal static int IndexOfWord(string[] choices, string word) =>
        Array.FindIndex(choices, choice => choice.Equals(SettingText.UpToZero(word), StringComparison.OrdinalIgnoreCase));

    private Setting With(Func<Settings, string> read, Action<Settings, string> write) =>
        new(this) { Read = read, Write = write, IsTyped = true };

    private static string? ParseFlag(ReadOnlySpan<string> words, string current, out string canonical)
    {
        string word = SettingText.UpToZero(words[0]);
        bool yes = word.Equals("yes", StringComparison.OrdinalIgnoreCase);
        canonical = YesOrNo(yes);
        return yes || word.Equals("no", StringComparison.OrdinalIgnoreCase) ? null : "argument must be 'yes' or 'no'";
    }

    private static string OutOfRange(string minimum, string maximum) =>
        $"argument must be between {minimum} and {maximum} inclusive";

    private static string YesOrNo(bool value) => value ? "yes" : "no";

    private static string Digits(long value) => value.ToString(CultureInfo.InvariantCulture);
}
