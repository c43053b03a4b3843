using System.Text.Json;

namespace RedKite.Traces;

/// <summary>
/// Writes stacks in speedscope's format (https://www.speedscope.app/file-format-schema.json): all names once, and each
/// thread's stacks in time order as indexes into them. Equal adjacent stacks are merged into one with a larger weight.
/// </summary>
internal static class SpeedscopeFile
{
    private const string InCallFrame = "[native call]";
    private const string WaitingFrame = "[waiting]";

    internal static void Write(Stream output, string name, IEnumerable<StackSample> stacks)
    {
        Dictionary<string, int> frames = [];
        List<ThreadProfile> threads = [];
        Dictionary<string, ThreadProfile> byName = [];
        foreach (StackSample stack in stacks)
        {
            if (!byName.TryGetValue(stack.Thread, out ThreadProfile? thread))
            {
                thread = new ThreadProfile(stack.Thread);
                byName.Add(stack.Thread, thread);
                threads.Add(thread);
            }

            thread.Add([.. stack.Frames.Select(IndexOf), .. StateFrames(stack.State).Select(IndexOf)]);
        }

        using var json = new Utf8JsonWriter(output);
        json.WriteStartObject();
        json.WriteString("$schema", "https://www.speedscope.app/file-format-schema.json");
        json.WriteString("name", name);
        json.WriteString("exporter", "redkite profile");
        json.WriteNumber("activeProfileIndex", Busiest(threads));
        json.WriteStartObject("shared");
        json.WriteStartArray("frames");
        foreach (string frame in frames.Keys) // in index order, because nothing was removed
        {
            json.WriteStartObject();
            json.WriteString("name", frame);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
        json.WriteStartArray("profiles");
        foreach (ThreadProfile thread in threads) thread.Write(json);
        json.WriteEndArray();
        json.WriteEndObject();

        int IndexOf(string frame)
        {
            if (frames.TryGetValue(frame, out int index)) return index;
            frames.Add(frame, frames.Count);
            return frames.Count - 1;
        }
    }

    // The thread's activity is the innermost frame, so that the graph distinguishes waiting from running.
    private static string[] StateFrames(SampledState state) => state switch
    {
        SampledState.InCall => [InCallFrame],
        SampledState.Waiting => [WaitingFrame],
        _ => [],
    };

    private static int Busiest(List<ThreadProfile> threads)
    {
        int busiest = 0;
        for (int i = 1; i < threads.Count; i++)
        {
            if (threads[i].Changes > threads[busiest].Changes) busiest = i;
        }

        return busiest;
    }

    private sealed class ThreadProfile(string name)
    {
        private readonly List<int[]> _stacks = [];
        private readonly List<int> _weights = [];

        /// <summary>The number of changes of the stack: a busy thread changes it constantly.</summary>
        internal int Changes => _stacks.Count;

        internal void Add(int[] stack)
        {
            if (_stacks.Count > 0 && _stacks[^1].AsSpan().SequenceEqual(stack))
            {
                _weights[^1]++;
                return;
            }

            _stacks.Add(stack);
            _weights.Add(1);
        }

        internal void Write(Utf8JsonWriter json)
        {
            json.WriteStartObject();
            json.WriteString("type", "sampled");
            json.WriteString("name", name);
            json.WriteString("unit", "none");
            json.WriteNumber("startValue", 0);
            json.WriteNumber("endValue", _weights.Sum());
            json.WriteStartArray("samples");
            foreach (int[] stack in _stacks)
            {
                json.WriteStartArray();
                foreach (int frame in stack) json.WriteNumberValue(frame);
                json.WriteEndArray();
            }

            json.WriteEndArray();
            json.WriteStartArray("weights");
            foreach (int weight in _weights) json.WriteNumberValue(weight);
            json.WriteEndArray();
            json.WriteEndObject();
        }
    }
}
