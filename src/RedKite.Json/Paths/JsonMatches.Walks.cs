using RedKite.Json.Store;

namespace RedKite.Json.Paths;

/// <summary>Walks over documents.</summary>
internal sealed partial class JsonMatches
{
    /// <summary>
    /// A walk over what one query selects, in the order of RFC 9535: of a value and all below, the value first. It can stop between two items and go on later, as
    /// long as the document is the same and none of its blocks has moved.
    /// </summary>
    /// <param name="matches">Whose query it is.</param>
    /// <param name="mayPause">Whether it stops at the end of a slice. One of a filter does not.</param>
    private sealed class Walk(JsonMatches matches, bool mayPause)
    {
        // A step of a slice that is larger passes all items as well.
        private const long StepMax = 1L << 40;

        private readonly Frame[] _frames = new Frame[JsonParser.DepthMax + 1]; // the containers on the way down
        private JsonPath _path = null!;
        private int _first;
        private JsonValue _start;

        /// <summary>The value that was found.</summary>
        internal JsonValue Value { get; private set; }

        /// <summary>How many items are on the way to it.</summary>
        internal int Depth { get; private set; }

        internal bool HasEnded => Depth == 0 && !_start.Exists;

        private bool MustStop => mayPause ? matches.IsPaused : matches.IsOver;

        /// <summary>The ordinal of an item on the way.</summary>
        internal int OrdinalAt(int depth) => _frames[depth].Items.Ordinal;

        /// <summary>Begins at a value.</summary>
        internal void Begin(JsonPath path, int segment, JsonValue start)
        {
            (_path, _first, _start) = (path, segment, start);
            Depth = 0;
        }

        /// <summary>Moves to the next value that is selected.</summary>
        /// <returns>False: there is none, or it stops.</returns>
        internal bool MoveNext()
        {
            if (_start.Exists)
            {
                JsonValue start = _start;
                _start = default;
                if (Visit(_first, start)) return true;
            }

            while (Depth > 0 && !MustStop)
            {
                ref Frame frame = ref _frames[Depth - 1];
                if (!Advance(ref frame, out int segment)) Depth -= frame.HasEnded ? 1 : 0;
                else if (Visit(segment, frame.Items.Value)) return true;
            }

            return false;
        }

        // A value is selected behind the last segment; what has items is walked.
        private bool Visit(int segment, JsonValue value)
        {
            matches.AddSteps(1);
            if (segment < 0 || (mayPause && matches.WithoutLast && _path.Segments[segment].Next < 0))
            {
                Value = value;
                return true;
            }

            if (!value.IsContainer) return false;
            ref Frame frame = ref _frames[Depth++];
            frame.Segment = segment;
            frame.Value = value;
            frame.Begin(_path.Segments[segment].Selector);
            return false;
        }

        // Moves to the next item that a container's selectors select, then, of a segment for all below, to each of its items. The segment is the one for the item.
        private bool Advance(ref Frame frame, out int segment)
        {
            JsonSegment part = _path.Segments[frame.Segment];
            segment = part.Next;
            while (frame.Selector >= 0)
            {
                JsonSelector selector = _path.Selectors[frame.Selector];
                if (SelectNext(ref frame, selector)) return true;
                if (MustStop) return false; // it may have been in the middle of the items
                frame.Begin(selector.Next);
            }

            segment = frame.Segment;
            if (part.IsDescendant && frame.Items.MoveNext()) return true;
            frame.HasEnded = true;
            return false;
        }

        private bool SelectNext(ref Frame frame, in JsonSelector selector)
        {
            bool isObject = frame.Items.IsObject, isFirst = !frame.HasBegun;
            frame.HasBegun = true;
            switch (selector.Kind)
            {
                case JsonSelectorKind.Name:
                    if (!isObject || !isFirst) return false;
                    ReadOnlySpan<byte> name = _path.TextOf(selector);
                    bool found = frame.Items.Find(name, matches.Names.Find(name));
                    matches.AddSteps(frame.Items.Ordinal);
                    return found;
                case JsonSelectorKind.Index:
                    if (isObject || !isFirst) return false;
                    long index = selector.Start < 0 ? selector.Start + frame.Value.Count : selector.Start;
                    return index >= 0 && frame.Items.Skip(index);
                case JsonSelectorKind.Slice:
                    return !isObject && (isFirst ? BeginSlice(ref frame, selector) : ContinueSlice(ref frame));
                case JsonSelectorKind.Wildcard:
                    return frame.Items.MoveNext();
                default:
                    while (!MustStop && frame.Items.MoveNext())
                    {
                        matches.AddSteps(1);
                        if (matches.Test(selector.Expression, frame.Items.Value)) return true;
                    }

                    return false;
            }
        }

        // In the order of RFC 9535: with a negative step, backwards. A step of 0 selects nothing.
        private static bool BeginSlice(ref Frame frame, in JsonSelector selector)
        {
            long count = frame.Value.Count;
            frame.Step = selector.Step == JsonSelector.Omitted ? 1 : Math.Clamp(selector.Step, -StepMax, StepMax);
            if (frame.Step >= 0)
            {
                frame.At = Math.Clamp(Bound(selector.Start, 0, count), 0, count);
                frame.End = frame.Step == 0 ? 0 : Math.Clamp(Bound(selector.End, count, count), 0, count);
            }
            else
            {
                frame.At = Math.Clamp(Bound(selector.Start, count - 1, count), -1, count - 1);
                frame.End = Math.Clamp(Bound(selector.End, -count - 1, count), -1, count - 1);
            }

            return IsInSlice(frame) && frame.Items.Skip(frame.At);
        }

        private bool ContinueSlice(ref Frame frame)
        {
            if (!IsInSlice(frame)) return false;
            frame.At += frame.Step;
            if (!IsInSlice(frame)) return false;
            if (frame.Step > 0)
            {
                for (long i = 0; i < frame.Step; i++) frame.Items.MoveNext();
                matches.AddSteps(frame.Step);
                return true;
            }

            matches.AddSteps(frame.At >> 4);
            frame.Items = frame.Value.Items;
            return frame.Items.Skip(frame.At);
        }

        private static bool IsInSlice(in Frame frame) => frame.Step >= 0 ? frame.At < frame.End : frame.At > frame.End;

        private static long Bound(long given, long omitted, long count) => given == JsonSelector.Omitted ? omitted : given >= 0 ? given : given + count;

        // A container, and how far the walk has come in it.
        private struct Frame
        {
            internal JsonValue Value;
            internal JsonItems Items;
            internal int Segment;
            internal int Selector;  // -1: the items themselves
            internal bool HasBegun; // with the selector
            internal bool HasEnded;
            internal long At;       // of a slice: the item, where it ends, and its step
            internal long End;
            internal long Step;

            internal void Begin(int selector)
            {
                Selector = selector;
                HasBegun = HasEnded = false;
                Items = Value.Items;
            }
        }
    }
}
