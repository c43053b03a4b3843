using RedKite.Protocol;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>What AROP computes from the elements of a range, in ascending order.</summary>
/// <param name="kind">The operation.</param>
/// <param name="operand">What MATCH compares elements with.</param>
internal sealed class ArrayFold(ArrayAggregate.Kind kind, byte[] operand, (long Id, long Changes) version, ulong low, ulong high) : ArrayWalk(version, low, high)
{
    private ArrayAggregate _aggregate = new(kind);
    private long _equal;

    internal void Reply(ReplyWriter reply)
    {
        if (kind == ArrayAggregate.Kind.Match) reply.Integer(_equal);
        else _aggregate.Reply(reply);
    }

    internal override void Restart()
    {
        base.Restart();
        _aggregate = new ArrayAggregate(kind);
        _equal = 0;
    }

    private protected override bool? Examine(ulong index, PackedElement element, ref long steps)
    {
        if (kind != ArrayAggregate.Kind.Match)
        {
            steps -= NumberSteps;
            _aggregate.Add(element);
        }
        else if (element.Equals(operand))
        {
            _equal++;
            steps -= operand.Length / sizeof(long);
        }
        else if (!element.IsNumber && element.TextLength == operand.Length)
        {
            steps -= operand.Length / sizeof(long);
        }

        return true;
    }

    // Of a text that is read as a number, at most.
    private const int NumberSteps = 48;
}
