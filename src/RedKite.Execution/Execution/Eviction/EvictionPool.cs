namespace RedKite.Server.Execution.Eviction;

/// <summary>A key that may be evicted, by its hash: the key itself may be gone by the time it would be evicted.</summary>
/// <param name="Score">The higher, the sooner it goes.</param>
internal readonly record struct EvictionCandidate(int Database, ulong Hash, long Score);

/// <summary>
/// The best candidates of the last samples, sorted by score: good candidates that were not evicted are remembered for later.
/// </summary>
internal sealed class EvictionPool
{
    private const int CandidatesMax = 16;

    private readonly EvictionCandidate[] _candidates = new EvictionCandidate[CandidatesMax]; // the best one is the last
    private int _count;

    /// <summary>Whether a candidate of this score would be kept, so that its hash is worth computing.</summary>
    internal bool Keeps(long score) => _count < CandidatesMax || score > _candidates[0].Score;

    internal void Add(in EvictionCandidate candidate)
    {
        for (int i = 0; i < _count; i++)
        {
            if (_candidates[i].Hash != candidate.Hash || _candidates[i].Database != candidate.Database) continue;
            RemoveAt(i);
            break;
        }

        if (!Keeps(candidate.Score)) return;
        if (_count == CandidatesMax) RemoveAt(0);
        int at = _count;
        for (; at > 0 && _candidates[at - 1].Score >= candidate.Score; at--) _candidates[at] = _candidates[at - 1]; // among equals, the older candidate goes first
        _candidates[at] = candidate;
        _count++;
    }

    internal bool TryTakeBest(out EvictionCandidate candidate)
    {
        candidate = default;
        if (_count == 0) return false;
        candidate = _candidates[--_count];
        return true;
    }

    /// <summary>Forgets all candidates, because scores of another policy mean something else.</summary>
    internal void Clear() => _count = 0;

    private void RemoveAt(int index)
    {
        _count--;
        for (int i = index; i < _count; i++) _candidates[i] = _candidates[i + 1];
    }
}
