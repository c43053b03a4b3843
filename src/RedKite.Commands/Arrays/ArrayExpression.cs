using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// A regular expression as a program of a nondeterministic automaton (Thompson): instructions with relative jumps, which
/// <see cref="ArrayExpressionMatch"/> executes for all states at once. So no expression takes more steps than its instructions times the text,
/// steps can be counted, and a match can stop after any of them. Rejected: .NET's automata, whose states take up to milliseconds to build and
/// cannot be counted or interrupted.
/// </summary>
/// <remarks>
/// The syntax is that of .NET without what needs backtracking or has no meaning where only a match is looked for. Texts are bytes, characters of
/// Latin-1. It is compiled without recursion.
/// </remarks>
internal sealed class ArrayExpression
{
    /// <summary>Instructions of a program. Repetitions with counts are copies.</summary>
    internal const int InstructionsMax = 8192;

    private ArrayExpression(Instruction[] program, bool[][] sets)
    {
        Program = program;
        Sets = sets;
    }

    internal enum Operation : byte
    {
        /// <summary>A byte of a set.</summary>
        Set,

        /// <summary>Goes on at two places.</summary>
        Split,
        Jump,
        Begin,
        End,
        LastEnd,
        WordEdge,
        NoWordEdge,
        Match,
    }

    internal Instruction[] Program { get; }

    internal bool[][] Sets { get; }

    internal static bool TryCompile(string pattern, bool ignoresCase, [NotNullWhen(true)] out ArrayExpression? expression)
    {
        var compiler = new Compiler(pattern, ignoresCase);
        expression = compiler.TryCompile() ? new ArrayExpression([.. compiler.Program], [.. compiler.Sets]) : null;
        return expression is not null;
    }

    internal static bool IsPartOfWord(byte b) => char.IsLetterOrDigit((char)b) || b == '_';

    /// <summary>An instruction; jumps are relative to it.</summary>
    internal readonly record struct Instruction(Operation Operation, int First = 0, int Second = 0);

    private sealed class Compiler(string pattern, bool ignoresCase)
    {
        private const int NoLimit = -1;

        // What a group, or the whole, consists of so far.
        private readonly Stack<Group> _outer = new();
        private Group _group = new(0);
        private int _at;
        private int _atom = -1; // where what a quantifier would repeat begins; -1: there is nothing

        internal List<Instruction> Program { get; } = [];

        internal List<bool[]> Sets { get; } = [];

        internal bool TryCompile()
        {
            while (_at < pattern.Length)
            {
                if (!TryNext() || Program.Count > InstructionsMax) return false;
            }

            if (_outer.Count > 0) return false;
            CloseBranches();
            Program.Add(new Instruction(Operation.Match));
            return Program.Count <= InstructionsMax;
        }

        private bool TryNext()
        {
            char c = pattern[_at++];
            switch (c)
            {
                case '(':
                    if (Take("?:") is false && _at < pattern.Length && pattern[_at] == '?') return false;
                    _outer.Push(_group);
                    _group = new Group(Program.Count);
                    _atom = -1;
                    return true;
                case ')':
                    if (_outer.Count == 0) return false;
                    CloseBranches();
                    _atom = _group.Start;
                    _group = _outer.Pop();
                    return true;
                case '|':
                    EndBranch();
                    _atom = -1;
                    return true;
                case '^':
                    return Assert(Operation.Begin);
                case '$':
                    return Assert(Operation.LastEnd);
                case '*' or '+' or '?':
                    return TryRepeat(c == '+' ? 1 : 0, c == '?' ? 1 : NoLimit);
                case '{' when TryCounts(out int min, out int max):
                    return TryRepeat(min, max);
                case '.':
                    return AddSet(SetOf(b => b != '\n'));
                case '[':
                    return TrySet(out bool[] set) && AddSet(set);
                case '\\':
                    return TryEscape();
                default:
                    return AddSet(SetOf(b => b == c));
            }
        }

        private bool Take(string text)
        {
            if (!pattern.AsSpan(_at).StartsWith(text, StringComparison.Ordinal)) return false;
            _at += text.Length;
            return true;
        }

        private bool Assert(Operation operation)
        {
            _atom = Program.Count;
            Program.Add(new Instruction(operation));
            return true;
        }

        private bool AddSet(bool[] set)
        {
            if (ignoresCase)
            {
                for (int i = 0; i < set.Length; i++)
                {
                    if (!set[i]) continue;
                    if (char.ToLowerInvariant((char)i) is <= (char)255 and char lower) set[lower] = true;
                    if (char.ToUpperInvariant((char)i) is <= (char)255 and char upper) set[upper] = true;
                }
            }

            _atom = Program.Count;
            int same = Sets.FindLastIndex(known => known.AsSpan().SequenceEqual(set));
            Program.Add(new Instruction(Operation.Set, same < 0 ? Sets.Count : same));
            if (same < 0) Sets.Add(set);
            return true;
        }

        // A branch that is not the last one: it may be entered or passed over, and ends with a jump behind them all.
        private void EndBranch()
        {
            int length = Program.Count - _group.Branch;
            Program.Insert(_group.Branch, new Instruction(Operation.Split, 1, length + 2));
            _group.Ends.Add(Program.Count);
            Program.Add(new Instruction(Operation.Jump));
            _group.Branch = Program.Count;
        }

        private void CloseBranches()
        {
            foreach (int end in _group.Ends) Program[end] = new Instruction(Operation.Jump, Program.Count - end);
        }

        private bool TryRepeat(int min, int max)
        {
            if (_atom < 0) return false;
            if (_at < pattern.Length && pattern[_at] == '?') _at++; // the shortest match matches, too
            Instruction[] body = [.. Program[_atom..]];
            long copies = max == NoLimit ? Math.Max(min, 1) : max;
            if (copies * (body.Length + 1L) + Program.Count > InstructionsMax) return false;
            Program.RemoveRange(_atom, body.Length);
            for (int i = 0; i < min - (max == NoLimit ? 1 : 0); i++) Program.AddRange(body);
            if (max == NoLimit)
            {
                if (min == 0) Program.Add(new Instruction(Operation.Split, 1, body.Length + 2));
                Program.AddRange(body);
                Program.Add(min == 0 ? new Instruction(Operation.Jump, -body.Length - 1) : new Instruction(Operation.Split, -body.Length, 1));
            }

            for (int left = max - min; left > 0; left--)
            {
                Program.Add(new Instruction(Operation.Split, 1, (body.Length + 1) * left));
                Program.AddRange(body);
            }

            _atom = -1; // another quantifier is an error
            return true;
        }

        // {n}, {n,} and {n,m}; other braces are themselves.
        private bool TryCounts(out int min, out int max)
        {
            max = 0;
            int at = _at;
            if (!TryCount(ref at, out min)) return false;
            max = min;
            if (at < pattern.Length && pattern[at] == ',')
            {
                at++;
                if (at < pattern.Length && pattern[at] == '}') max = NoLimit;
                else if (!TryCount(ref at, out max)) return false;
            }

            if (at >= pattern.Length || pattern[at] != '}') return false;
            _at = at + 1;
            if (max != NoLimit && max < min) _atom = -1; // an error
            return true;
        }

        private bool TryCount(ref int at, out int count)
        {
            int start = at;
            while (at < pattern.Length && char.IsAsciiDigit(pattern[at])) at++;
            count = 0;
            if (at == start) return false;
            if (!int.TryParse(pattern.AsSpan(start, at - start), NumberStyles.None, CultureInfo.InvariantCulture, out count)) count = InstructionsMax * 2;
            return true;
        }

        private bool TryEscape()
        {
            if (_at == pattern.Length) return false;
            Operation? assertion = pattern[_at] switch
            {
                'A' => Operation.Begin,
                'z' => Operation.End,
                'Z' => Operation.LastEnd,
                'b' => Operation.WordEdge,
                'B' => Operation.NoWordEdge,
                _ => null,
            };
            if (assertion is { } operation)
            {
                _at++;
                return Assert(operation);
            }

            return TryEscaped(out bool[]? set, out byte one) && AddSet(set ?? SetOf(b => b == one));
        }

        // A class, or one byte.
        private bool TryEscaped(out bool[]? set, out byte one)
        {
            one = 0;
            set = null;
            if (_at == pattern.Length) return false;
            char c = pattern[_at++];
            set = c switch
            {
                'd' => SetOf(b => char.IsDigit((char)b)),
                'D' => SetOf(b => !char.IsDigit((char)b)),
                'w' => SetOf(IsPartOfWord),
                'W' => SetOf(b => !IsPartOfWord(b)),
                's' => SetOf(b => char.IsWhiteSpace((char)b)),
                'S' => SetOf(b => !char.IsWhiteSpace((char)b)),
                _ => null,
            };
            if (set is not null) return true;
            if (c is 'x' or 'u') return TryHexadecimal(c == 'x' ? 2 : 4, out one);
            int known = "tnrfvae0".IndexOf(c, StringComparison.Ordinal);
            if (known < 0 && IsPartOfWord((byte)c)) return false;
            one = known < 0 ? (byte)c : (byte)"\t\n\r\f\v\a\u001b\0"[known];
            return true;
        }

        private bool TryHexadecimal(int digits, out byte one)
        {
            one = 0;
            if (pattern.Length - _at < digits || !int.TryParse(pattern.AsSpan(_at, digits), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out int value) || value > 255) return false;
            _at += digits;
            one = (byte)value;
            return true;
        }

        // Behind the opening bracket.
        private bool TrySet(out bool[] set)
        {
            set = new bool[256];
            bool isNegated = Take("^");
            for (bool isFirst = true; _at < pattern.Length; isFirst = false)
            {
                if (pattern[_at] == ']' && !isFirst)
                {
                    _at++;
                    if (isNegated) Negate(set);
                    return true;
                }

                if (!TryMember(out bool[]? several, out byte low)) return false;
                byte high = low;
                if (_at + 1 < pattern.Length && pattern[_at] == '-' && pattern[_at + 1] != ']')
                {
                    _at++;
                    if (several is not null || pattern[_at] == '[' || !TryMember(out bool[]? other, out high) || other is not null || high < low) return false;
                }

                if (several is null) set.AsSpan(low, high - low + 1).Fill(true);
                else for (int i = 0; i < set.Length; i++) set[i] |= several[i];
            }

            return false;
        }

        private bool TryMember(out bool[]? several, out byte one)
        {
            several = null;
            one = (byte)pattern[_at++];
            if (one != '\\') return true;
            if (!Take("b")) return TryEscaped(out several, out one);
            one = (byte)'\b';
            return true;
        }

        // With IgnoreCase the members are completed before they are negated.
        private void Negate(bool[] set)
        {
            if (ignoresCase)
            {
                for (int i = 0; i < set.Length; i++)
                {
                    if (set[i] && char.ToLowerInvariant((char)i) is <= (char)255 and char lower) set[lower] = true;
                    if (set[i] && char.ToUpperInvariant((char)i) is <= (char)255 and char upper) set[upper] = true;
                }
            }

            for (int i = 0; i < set.Length; i++) set[i] = !set[i];
        }

        private static bool[] SetOf(Func<byte, bool> isMember)
        {
            bool[] set = new bool[256];
            for (int i = 0; i < set.Length; i++) set[i] = isMember((byte)i);
            return set;
        }

        private sealed class Group(int start)
        {
            internal int Start { get; } = start;

            internal int Branch { get; set; } = start;

            internal List<int> Ends { get; } = [];
        }
    }
}
