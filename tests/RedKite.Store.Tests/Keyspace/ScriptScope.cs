using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>A script's turn and its stripes together.</summary>
internal ref struct ScriptScope
{
    private readonly ScriptMutexHold _turn;
    private LockScope _locked;

    private ScriptScope(Store.Keyspace.Keyspace keyspace, StripeSet stripes)
    {
        _turn = new ScriptMutexHold(keyspace.Scripts);
        _turn.Begin(System.Diagnostics.Stopwatch.GetTimestamp());
        _locked = keyspace.LockForScript(stripes);
    }

    internal readonly StripeSet Held => _locked.Held;

    internal static ScriptScope Lock(Store.Keyspace.Keyspace keyspace, StripeSet stripes) => new(keyspace, stripes);

    internal bool Grow(StripeSet stripes) => _locked.Grow(stripes);

    public void Dispose()
    {
        _locked.Dispose();
        _turn.End();
    }
}
