using System.Buffers;
using static RedKite.Server.Commands.Arrays.ArrayExpression;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// Looks for an expression in one text after the other, in steps. It stops when it has no steps left, and
/// goes on from there with the same text.
/// </summary>
internal sealed class ArrayExpressionMatch
{
    // An instruction that is reached takes 3 to 4 ns, a step of the other predicates about one.
    internal const int InstructionSteps = 4;

    private readonly Instruction[] _program;
    private readonly bool[][] _sets;
    private readonly SearchValues<byte>? _firsts; // what every match begins with; null: also with nothing, or at an edge
    private readonly int[] _seen;                 // for each instruction, the position at which it was reached last, plus one
    private readonly int[] _open;
    private int[] _states;                        // instructions that wait for a byte
    private int[] _nextStates;
    private int _count;
    private int _at = -1;
    private bool _hasMatched;

    internal ArrayExpressionMatch(ArrayExpression expression)
    {
        _program = expression.Program;
        _sets = expression.Sets;
        _seen = new int[_program.Length];
        _open = new int[_program.Length + 1];
        _states = new int[_program.Length];
        _nextStates = new int[_program.Length];
        _firsts = Firsts();
    }

    /// <summary>Forgets a text within which it has stopped.</summary>
    internal void Restart() => _at = -1;

    /// <summary>Whether the expression matches anywhere in a text.</summary>
    /// <param name="text">The text, the same one after a stop.</param>
    /// <param name="steps">The steps that it may take; then those that are left.</param>
    /// <returns>Null: it has stopped.</returns>
    internal bool? IsIn(ReadOnlySpan<byte> text, ref long steps)
    {
        if (_at < 0)
        {
            _at = 0;
            _count = 0;
            _hasMatched = false;
            Array.Clear(_seen);
            steps -= _seen.Length / sizeof(long);
            Reach(text, 0, 0, ref steps);
        }

        while (!_hasMatched && _at < text.Length)
        {
            if (steps <= 0) return null;
            if (_count == 0 && _firsts is not null)
            {
                int distance = text[_at..].IndexOfAny(_firsts);
                steps -= (distance < 0 ? text.Length - _at : distance) / sizeof(long);
                if (distance < 0) break;
                _at += distance;
                Reach(text, 0, _at, ref steps);
            }

            Advance(text, ref steps);
        }

        _at = -1;
        return _hasMatched;
    }

    // Reads a byte in all states; a match may begin behind it, too.
    private void Advance(ReadOnlySpan<byte> text, ref long steps)
    {
        byte read = text[_at++];
        (_states, _nextStates) = (_nextStates, _states);
        int count = _count;
        _count = 0;
        steps -= count;
        for (int i = 0; i < count && !_hasMatched; i++)
        {
            int state = _nextStates[i];
            if (_sets[_program[state].First][read]) Reach(text, state + 1, _at, ref steps);
        }

        if (!_hasMatched && (_firsts is null || (_count > 0 && _at < text.Length))) Reach(text, 0, _at, ref steps);
    }

    // Follows what needs no byte, and notes the instructions that do.
    private void Reach(ReadOnlySpan<byte> text, int from, int at, ref long steps)
    {
        int open = 0;
        _open[open++] = from;
        while (open > 0)
        {
            int index = _open[--open];
            if (_seen[index] == at + 1) continue;
            _seen[index] = at + 1;
            steps -= InstructionSteps;
            Instruction instruction = _program[index];
            switch (instruction.Operation)
            {
                case Operation.Match:
                    _hasMatched = true;
                    return;
                case Operation.Set:
                    _states[_count++] = index;
                    break;
                case Operation.Split:
                    if (_seen[index + instruction.Second] != at + 1) _open[open++] = index + instruction.Second;
                    if (_seen[index + instruction.First] != at + 1) _open[open++] = index + instruction.First;
                    break;
                case Operation.Jump:
                    _open[open++] = index + instruction.First;
                    break;
                default:
                    if (Holds(instruction.Operation, text, at)) _open[open++] = index + 1;
                    break;
            }
        }
    }

    private static bool Holds(Operation operation, ReadOnlySpan<byte> text, int at) => operation switch
    {
        Operation.Begin => at == 0,
        Operation.End => at == text.Length,
        Operation.LastEnd => at == text.Length || (at == text.Length - 1 && text[at] == '\n'),
        _ => (IsWord(text, at - 1) != IsWord(text, at)) == (operation == Operation.WordEdge),
    };

    private static bool IsWord(ReadOnlySpan<byte> text, int at) => (uint)at < (uint)text.Length && IsPartOfWord(text[at]);

    private SearchValues<byte>? Firsts()
    {
        bool[] firsts = new bool[256];
        bool[] seen = new bool[_program.Length];
        var open = new Stack<int>([0]);
        while (open.TryPop(out int index))
        {
            if (seen[index]) continue;
            seen[index] = true;
            Instruction instruction = _program[index];
            switch (instruction.Operation)
            {
                case Operation.Set:
                    for (int i = 0; i < firsts.Length; i++) firsts[i] |= _sets[instruction.First][i];
                    break;
                case Operation.Split:
                    open.Push(index + instruction.First);
                    open.Push(index + instruction.Second);
                    break;
                case Operation.Jump:
                    open.Push(index + instruction.First);
                    break;
                default:
                    return null;
            }
        }

        return SearchValues.Create([.. Enumerable.Range(0, 256).Where(i => firsts[i]).Select(i => (byte)i)]);
    }
}
