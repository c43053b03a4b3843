using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>VSIM: what is near a vector, and how near.</summary>
internal static class VectorSearchCommands
{
    internal static readonly CommandFamily Family = new(VectorSetCommands.Group, "",
    [
        new("VSIM", -4, CommandFlags.ReadOnly, VectorSetCommands.Key, VSim,
            new("8.0.0", "O(log(N)) where N is the number of elements; O(N) with TRUTH.", "Returns the elements whose vectors are nearest to a vector.",
                "key format:<ELE | FP32 | VALUES> vector_or_element [WITHSCORES] [WITHATTRIBS] [COUNT count] [EPSILON max_distance:double] [EF search-exploration-factor:integer] [FILTER expression] [FILTER-EF max-filtering-effort:integer] [TRUTH] [NOTHREAD]")) { Module = ServerModule.VectorSets },
    ]);

    // VSIM key (ELE element | FP32 bytes | VALUES num number ...) [WITHSCORES] [WITHATTRIBS] [COUNT count] [EPSILON distance] [EF effort]
    //      [FILTER expression] [FILTER-EF examined] [TRUTH] [NOTHREAD]
    private static void VSim(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        if (!set.Exists)
        {
            cmd.Reply.Array(0);
            return;
        }

        if (!TryQueryOrReply(cmd, set, out int at, out VectorElement element, out Span<float> vector)) return;
        if (!VectorSearchOptions.TryReadOrReply(cmd, at, out VectorSearchOptions options)) return;
        VectorSearch search = cmd.CompleteSearch()?.Search ?? Begin(set, element, vector, options);
        if (!cmd.TryComplete(set, search)) return;
        ReadOnlySpan<ulong> found = search.Results(set);
        int near = 0;
        while (near < found.Length && DistanceKey.Distance(found[near]) <= options.DistanceMax) near++;
        Reply(cmd.Reply, set, found[..near], options);
    }

    private static VectorSearch Begin(VectorSetValue set, VectorElement element, Span<float> vector, VectorSearchOptions options)
    {
        int count = (int)Math.Min(options.Count, set.Count);
        int effort = (int)Math.Min(Math.Max(options.Effort, count), set.Count);
        VectorQuery query = element.Exists ? set.Query(element) : set.Query(vector);
        return query.Begin(new VectorSearchBounds(count, effort, options.Filter?.Predicate, options.ExaminedMax, options.IsExact));
    }

    private static bool TryQueryOrReply(scoped in CommandContext cmd, VectorSetValue set, out int at, out VectorElement element, out Span<float> vector)
    {
        at = 2;
        element = default;
        vector = default;
        if (cmd.Is(at, "ELE"u8))
        {
            element = set.Find(cmd[3]);
            at = 4;
            if (!element.Exists) cmd.Reply.Error("ERR element not found in set"u8);
            return element.Exists;
        }

        if (!cmd.TryVectorOrReply(ref at, out vector)) return false;
        VectorSetForm form = set.Form;
        if (vector.Length == form.Dimensions || vector.Length == form.ProjectedFrom) return true;
        if (form.ProjectedFrom > 0) cmd.ReplyProjection(vector.Length, form.ProjectedFrom);
        else cmd.ReplyDimensions(vector.Length, form.Dimensions);
        return false;
    }

    // RESP2: a flat array. RESP3: a map from each element to its score, to its attributes, or to both; an array if neither is wanted.
    private static void Reply(ReplyWriter reply, VectorSetValue set, ReadOnlySpan<ulong> found, VectorSearchOptions options)
    {
        int parts = (options.WithScores ? 1 : 0) + (options.WithAttributes ? 1 : 0);
        if (reply.Resp3 && parts > 0) reply.Map(found.Length);
        else reply.Array(found.Length * (1 + parts));
        foreach (ulong key in found)
        {
            VectorElement element = set.At(DistanceKey.Number(key));
            reply.Bulk(element.Name);
            if (reply.Resp3 && parts == 2) reply.Array(2);
            if (options.WithScores) reply.Double(VectorSetAccess.ScoreOf(DistanceKey.Distance(key)));
            if (options.WithAttributes) reply.Attributes(element);
        }
    }
}
