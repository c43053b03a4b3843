using System.Buffers;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;

namespace RedKite.Server.Commands.Lists;

/// <summary>
/// LMOVEM and BLMOVEM: move several elements between lists. They are replied in the order that they have in the destination. Then they move in
/// portions, which are copied while both lists change. Replicas and the log get LMOVE, or a pop and pushes.
/// </summary>
internal static class ListBlockMoves
{
    internal const string Syntax = "source:key destination:key wherefrom:<LEFT | RIGHT> whereto:<LEFT | RIGHT>";
    internal const string HowManySyntax = " how-many:[selector:<COUNT count | EXACTLY exactly:integer> ordering:<OBO | BULK>]";

    // A portion ends when it has so many elements or bytes.
    private const int PortionElements = 128;
    private const int PortionBytes = 64 * 1024;

    // LMOVEM source destination LEFT | RIGHT LEFT | RIGHT [COUNT count | EXACTLY exactly OBO | BULK]
    internal static void LMoveM(ref CommandContext cmd)
    {
        if (!MoveRequest.TryParseOrReply(cmd, options: 5, out MoveRequest request) || TryMoveOrReply(ref cmd, request)) return;
        cmd.Reply.NullArray();
    }

    // BLMOVEM source destination LEFT | RIGHT LEFT | RIGHT timeout [COUNT count | EXACTLY exactly OBO | BULK]
    internal static void BLMoveM(ref CommandContext cmd)
    {
        if (!MoveRequest.TryParseOrReply(cmd, options: 6, out MoveRequest request)) return;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, 5, out long deadlineMs)) return;
        if (!TryMoveOrReply(ref cmd, request) && !cmd.BlockOnKeys(DataType.List, deadlineMs, waitsForGrowth: request.IsExact)) cmd.Reply.NullArray();
    }

    /// <summary>Moves elements and replies them, or WRONGTYPE; false if there are not enough, and nothing is replied.</summary>
    private static bool TryMoveOrReply(ref CommandContext cmd, in MoveRequest request)
    {
        Entry source = cmd.FindToWrite(1);
        if (!source.Exists) return false;
        if (!cmd.IsTypeOrReply(source, DataType.List)) return true;
        if (!cmd.IsTypeOrReply(cmd.FindToWrite(2), DataType.List)) return true;
        ListValue from = cmd.ListOf(cmd.Peek(1));
        long length = from.Count;
        if (request.IsExact && length < request.Count) return false;
        long count = Math.Min(request.Count, length);

        // One by one, elements that go to the end from which they come are reversed.
        long first = request.FromLast ? length - count : 0;
        bool reversed = request.OneByOne && request.FromLast == request.ToLast;
        cmd.Reply.Array((int)Math.Min(int.MaxValue, count));
        ListReader elements = from.Read(reversed ? first + count - 1 : first, count, backwards: reversed);
        while (elements.MoveNext() && !cmd.Reply.Overflowed) cmd.Reply.Bulk(elements.Current);
        if (cmd.Reply.Overflowed) return true;

        cmd.ReplaceEffect();
        bool isOneList = cmd[1].SequenceEqual(cmd[2]);
        if (!isOneList) MoveBetween(cmd, request, first, count, reversed);
        else if (reversed) Reverse(cmd, request, count);
        else if (request.FromLast != request.ToLast) MoveWithin(cmd, request, count);
        cmd.Changed(2, request.ToLast ? KeyEvent.RPush : KeyEvent.LPush, count: 0);
        cmd.Changed(1, request.FromLast ? KeyEvent.RPop : KeyEvent.LPop, count);
        return true;
    }

    // Elements are pushed in the order that brings them into their order in the destination: the last of them first at the head.
    private static void MoveBetween(scoped in CommandContext cmd, in MoveRequest request, long first, long count, bool reversed)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect(request.FromLast ? "RPOP"u8 : "LPOP"u8, 3).Argument(cmd[1]).Argument(count);
        bool backwards = request.ToLast == reversed;
        var portion = new Portion();
        for (long left = count; left > 0; left -= portion.Count)
        {
            ListValue from = cmd.ListOf(cmd.Peek(1));
            portion.Read(from.Read(backwards ? first + left - 1 : first, Math.Min(left, PortionElements), backwards));
            from.Remove(backwards ? first + left - portion.Count : first, portion.Count);
            Entry destination = cmd.Peek(2);
            ListValue to = destination.Exists ? cmd.ListOf(destination) : cmd.CreateList(2);
            portion.PushTo(ref to, request.ToLast);
            portion.Report(cmd, request.ToLast);
        }

        portion.Release();
    }

    // Within one list, elements go from an end one by one. A single element stays, so that the list does not lose its key.
    private static void MoveWithin(scoped in CommandContext cmd, in MoveRequest request, long count)
    {
        var portion = new Portion();
        for (long i = 0; i < count; i++)
        {
            ListValue list = cmd.ListOf(cmd.Peek(1));
            if (list.Count == 1) break;
            long end = request.FromLast ? list.Count - 1 : 0;
            portion.Read(list.Read(end, 1));
            list.Remove(end, 1);
            portion.PushTo(ref list, request.ToLast);
            if (cmd.Recording.TakesEffects) cmd.Effect("LMOVE"u8, 5).Argument(cmd[1]).Argument(cmd[2]).Argument(Name(request.FromLast)).Argument(Name(request.ToLast));
        }

        portion.Release();
    }

    // Elements that are popped one by one and pushed where they come from. All but the outermost move beyond it, so that the list does not lose its key.
    private static void Reverse(scoped in CommandContext cmd, in MoveRequest request, long count)
    {
        bool last = request.ToLast;
        long length = cmd.ListOf(cmd.Peek(1)).Count;
        var portion = new Portion();
        for (long done = 1; done < count; done += portion.Count)
        {
            ListValue list = cmd.ListOf(cmd.Peek(1));
            long next = last ? length - 1 - done : done;
            portion.Read(list.Read(next, Math.Min(count - done, PortionElements), backwards: last));
            list.Remove(last ? next - portion.Count + 1 : next, portion.Count);
            portion.PushTo(ref list, last);
        }

        portion.Release();
        if (!cmd.Recording.TakesEffects) return;
        long index = last ? length - count : 0;
        ListReader elements = cmd.ListOf(cmd.Peek(1)).Read(index, count);
        for (; elements.MoveNext(); index++) cmd.Effect("LSET"u8, 4).Argument(cmd[1]).Argument(index).Argument(elements.Current);
    }

    private static ReadOnlySpan<byte> Name(bool last) => last ? "RIGHT"u8 : "LEFT"u8;

    /// <summary>Elements on their way: no more than a portion, or one that is longer, outside the managed heap.</summary>
    private ref struct Portion
    {
        private NativeList<byte> _bytes = new(PortionBytes);
        private readonly int[] _ends = ArrayPool<int>.Shared.Rent(PortionElements);

        public Portion()
        {
        }

        internal int Count { get; private set; }

        private readonly int End => Count == 0 ? 0 : _ends[Count - 1];

        /// <summary>Reads elements until the portion is full: at least one.</summary>
        internal void Read(ListReader elements)
        {
            Count = 0;
            while (Count < PortionElements && (Count == 0 || End < PortionBytes) && elements.MoveNext())
            {
                ReadOnlySpan<byte> element = elements.Current;
                int end = End;
                if (end + element.Length > _bytes.Count) Grow(end, end + element.Length);
                element.CopyTo(_bytes.Items[end..]);
                _ends[Count++] = end + element.Length;
            }
        }

        internal readonly void PushTo(ref ListValue list, bool last)
        {
            list.PrepareFor(End, Count);
            for (int i = 0; i < Count; i++)
            {
                if (last) list.PushLast(this[i]);
                else list.PushFirst(this[i]);
            }
        }

        /// <summary>Records the push as an effect.</summary>
        internal readonly void Report(scoped in CommandContext cmd, bool last)
        {
            if (!cmd.Recording.TakesEffects) return;
            EffectArguments effect = cmd.Effect(last ? "RPUSH"u8 : "LPUSH"u8, 2 + Count).Argument(cmd[2]);
            for (int i = 0; i < Count; i++) effect.Argument(this[i]);
        }

        internal void Release()
        {
            _bytes.Dispose();
            ArrayPool<int>.Shared.Return(_ends);
        }

        private readonly ReadOnlySpan<byte> this[int index]
        {
            get
            {
                int start = index == 0 ? 0 : _ends[index - 1];
                return _bytes.Items[start.._ends[index]];
            }
        }

        private void Grow(int used, int needed)
        {
            var larger = new NativeList<byte>(needed);
            _bytes.Items[..used].CopyTo(larger.Items);
            _bytes.Dispose();
            _bytes = larger;
        }
    }

    /// <summary>From which end to which end, how many elements, and how.</summary>
    private readonly record struct MoveRequest(bool FromLast, bool ToLast, long Count, bool IsExact, bool OneByOne)
    {
        internal static bool TryParseOrReply(scoped in CommandContext cmd, int options, out MoveRequest request)
        {
            request = default;
            if (!ListMoves.TryEndsOrReply(cmd, out bool fromLast, out bool toLast)) return false;
            request = new MoveRequest(fromLast, toLast, Count: 1, IsExact: false, OneByOne: true);
            var reader = new OptionReader(cmd, options);
            if (!reader.More) return true;
            bool isExact = reader.TakeWithValue("EXACTLY"u8, out int number);
            bool hasNumber = isExact || reader.TakeWithValue("COUNT"u8, out number);
            bool oneByOne = hasNumber && reader.Take("OBO"u8);
            if (!hasNumber || (!oneByOne && !reader.Take("BULK"u8)) || reader.More)
            {
                cmd.ReplySyntaxError();
                return false;
            }

            if (!cmd.TryPositiveOrReply(number, "ERR count should be greater than 0"u8, out long count)) return false;
            request = request with { Count = count, IsExact = isExact, OneByOne = oneByOne };
            return true;
        }
    }
}
