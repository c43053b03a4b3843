namespace RedKite.Host.Transfer;

/// <summary>
/// Copies a vector set with its commands: each element with its vector, as VEMB replies it, and its attributes. The target makes its own links. A set whose vectors are projections
/// is not copied: no command replies the projection, which later vectors need.
/// </summary>
internal sealed class VectorSetCopy(SourceServer source, TargetServer target, byte[] scratch)
{
    // Elements whose vectors are asked for together.
    private const int ElementsAhead = 64;

    /// <summary>Copies a set to the scratch key; false: the key has another type by now; null: it cannot be copied.</summary>
    internal bool? TryCopy(byte[] key)
    {
        if (!PlainCopy.TryAsk(source.Link, out Reply info, "VINFO", key)) return false;
        if (info.IsNull) return false;
        if (info["projection-input-dim"] is { Number: > 0 }) return null;
        string quantization = info["quant-type"]?.Text switch { "int8" => "Q8", "bin" => "BIN", _ => "NOQUANT" };
        long linksMax = info["hnsw-m"]?.Number ?? 0;
        if (!PlainCopy.TryAsk(source.Link, out Reply elements, "VRANDMEMBER", key, info["size"]?.Number ?? 0)) return false;
        foreach (Reply[] some in elements.Array.Chunk(ElementsAhead))
        {
            foreach (Reply element in some)
            {
                source.Link.Queue("VEMB", key, element.Bytes!);
                source.Link.Queue("VGETATTR", key, element.Bytes!);
            }

            source.Link.Flush();
            foreach (Reply element in some)
            {
                Reply vector = source.Link.Read(), attributes = source.Link.Read();
                if (vector.Array.Length == 0) continue; // it is gone
                List<Word> words = ["VADD", scratch, "VALUES", vector.Array.Length, .. vector.Array.Select(static value => (Word)value.Bytes!), element.Bytes!, quantization];
                if (attributes is { IsError: false, Bytes: { } text }) words.AddRange(["SETATTR", text]);
                if (linksMax > 0) words.AddRange(["M", linksMax]);
                target.Send([.. words]);
            }
        }

        return true;
    }
}
