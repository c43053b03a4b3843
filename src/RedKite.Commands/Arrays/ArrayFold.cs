using RedKite.Protocol;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>What AROP computes from the elements of a range, in ascending order.</summary>
internal sealed class ArrayFold() : ArrayWalk(default, 0, 0)
{
    // Of a text that is read as a number, at most.
    private const int NumberSteps = 48;

    private const int KeptOperandMax = 1 << 16;

    // One that did not wait serves the thread's next command, which so allocates nothing.
    [ThreadStatic]
    private static ArrayFold? _kept;

    private ArrayAggregate.Kind _kind;
    private byte[] _operand = [];
    private ArrayAggregate _aggregate;
    private long _equal;

    /// <param name="kind">The operation.</param>
    /// <param name="operand">What MATCH compares elements with.</param>
    /// <param name="version">The array's.</param>
    /// <param name="low">The first index.</param>
    /// <param name="high">The last index.</param>
    internal static ArrayFold Begin(ArrayAggregate.Kind kind, ReadOnlySpan<byte> operand, (long Id, long Changes) version, ulong low, ulong high)
    {
        ArrayFold fold = _kept ?? new ArrayFold();
        _kept = null;
        fold._kind = kind;
        if (!operand.SequenceEqual(fold._operand)) fold._operand = operand.ToArray();
        fold.Begin(version, low, high);
        return fold;
    }

    /// <summary>Keeps it for the thread's next command. Nothing else refers to it.</summary>
    internal void Keep()
    {
        if (_operand.Length <= KeptOperandMax) _kept = this;
    }

    internal void Reply(ReplyWriter reply)
    {
        if (_kind == ArrayAggregate.Kind.Match) reply.Integer(_equal);
        else _aggregate.Reply(reply);
    }

    internal override void Restart()
    {
        base.Restart();
        _aggregate = new ArrayAggregate(_kind);
        _equal = 0;
    }

    private protected override bool? Examine(ulong index, PackedElement element, ref long steps)
    {
        if (_kind != ArrayAggregate.Kind.Match)
        {
            steps -= NumberSteps;
            _aggregate.Add(element);
        }
        else if (element.Equals(_operand))
        {
            _equal++;
            steps -= _operand.Length / sizeof(long);
        }
        else if (!element.IsNumber && element.TextLength == _operand.Length)
        {
            steps -= _operand.Length / sizeof(long);
        }

        return true;
    }
}
