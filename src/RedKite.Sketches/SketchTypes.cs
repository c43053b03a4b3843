using RedKite.Persistence.Types;
using RedKite.Server.Model;
using RedKite.Sketches.Bloom;
using RedKite.Sketches.CountMin;
using RedKite.Sketches.Cuckoo;
using RedKite.Sketches.Digests;
using RedKite.Sketches.Persistence;
using RedKite.Sketches.Store;
using RedKite.Sketches.Tops;

namespace RedKite.Sketches;

/// <summary>Probabilistic types: the types of values and the commands that this project adds to a server.</summary>
internal static class SketchTypes
{
    /// <summary>The families of commands.</summary>
    internal static CommandFamily[] Families => [BloomCommands.Family, CuckooCommands.Family, CountMinCommands.Family, TopCommands.Family, DigestCommands.Family];

    /// <summary>Adds the types to the process: see <see cref="AddedTypes"/>.</summary>
    internal static void Add()
    {
        PersistedTypes.Add(new PersistedSketch(SketchType.Bloom, "rkt-bloom", BloomFilter.IsValid, "BF.INFO", 7));
        PersistedTypes.Add(new PersistedSketch(SketchType.Cuckoo, "rkt-cucko", CuckooFilter.IsValid, "CF.INFO", 7));
        PersistedTypes.Add(new PersistedSketch(SketchType.CountMin, "rkt-cmsk-", CountMinSketch.IsValid, "CMS.INFO", 5));
        PersistedTypes.Add(new PersistedSketch(SketchType.Top, "rkt-topk-", TopSketch.IsValid, "TOPK.INFO", 1));
        PersistedTypes.Add(new PersistedSketch(SketchType.Digest, "rkt-tdig-", TDigest.IsValid, "TDIGEST.INFO", 13));
    }
}
