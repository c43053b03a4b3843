using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>A request of an executor's current batch.</summary>
internal struct BatchRequest
{
    internal Command? Command;
    internal int First;
    internal int Count;
    internal int Start;
    internal int End;
    internal ulong Hash; // of the early key; 0: none
    internal nint Bucket; // where the key's entry would be, as far as it was known without a lock
}
