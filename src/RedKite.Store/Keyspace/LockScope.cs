namespace RedKite.Store.Keyspace;

/// <summary>
/// The stripes that the current thread has locked, until the scope is disposed of. A thread has one scope at a time.
/// </summary>
/// <remarks>
/// <para>
/// A scope that waits for a stripe has executed nothing under the stripes that it holds, so it can release them and start
/// again. It waits in ascending order, and gives way when the running script claims a stripe. Only the scope of that script
/// waits after having executed. So scopes never wait for each other in a circle: docs/locking.md, LockProtocolModelTests.
/// </para>
/// <para>
/// A ref struct: it lives on the stack of the thread that took the locks. Pass it by reference; a copy would release what
/// the original still holds.
/// </para>
/// </remarks>
internal ref struct LockScope
{
    private readonly Keyspace _keyspace;
    private readonly bool _isScript;

    /// <summary>Locks stripes, in ascending order.</summary>
    internal LockScope(Keyspace keyspace, StripeSet stripes, bool isScript = false)
    {
        _keyspace = keyspace;
        _isScript = isScript;
        Acquire(stripes, givesUp: null);
    }

    private LockScope(Keyspace keyspace) => _keyspace = keyspace;

    /// <summary>The stripes that are locked.</summary>
    internal StripeSet Held { readonly get; private set; }

    /// <summary>Creates a scope over stripes that the current thread has already entered, and that the scope is to release.</summary>
    internal static LockScope Adopt(Keyspace keyspace, StripeSet held) => new(keyspace, StripeSet.Empty) { Held = held };

    /// <summary>Locks stripes for a script. The current thread's <see cref="ScriptMutexHold"/> has begun, before any stripe.</summary>
    internal static LockScope ForScript(Keyspace keyspace, StripeSet stripes) => new(keyspace, stripes, isScript: true);

    /// <summary>Locks stripes, unless the flag is up while one of them is locked by another thread.</summary>
    internal static bool TryEnter(Keyspace keyspace, StripeSet stripes, WaitFlag? givesUp, out LockScope scope)
    {
        scope = new LockScope(keyspace);
        return scope.Acquire(stripes, givesUp);
    }

    /// <summary>Locks further stripes, all or none, even lower ones than those that are held. It does not sleep.</summary>
    /// <returns>False when one of them stayed locked by another thread.</returns>
    internal bool TryGrow(StripeSet stripes)
    {
        StripeSet entered = StripeSet.Empty;
        foreach (int stripe in stripes.Without(Held))
        {
            if (!_keyspace.Stripes[stripe].TryEnterSoon())
            {
                Exit(entered);
                return false;
            }

            entered = entered.With(stripe);
        }

        Held = Held.With(entered);
        return true;
    }

    /// <summary>
    /// Locks further stripes. If it has to wait, all stripes are released and locked again in ascending
    /// order. A script keeps its stripes: others give way.
    /// </summary>
    /// <returns>Whether the stripes stayed locked throughout. If not, other threads may have changed everything in between.</returns>
    internal bool Grow(StripeSet stripes) => Grow(stripes, givesUp: null, out _);

    /// <summary>The same, unless the flag is up while it has to wait.</summary>
    /// <param name="stripes">The further stripes.</param>
    /// <param name="givesUp">The flag; null: it waits.</param>
    /// <param name="gaveUp">Whether the flag was up: then no stripe is locked any more.</param>
    internal bool Grow(StripeSet stripes, WaitFlag? givesUp, out bool gaveUp)
    {
        gaveUp = false;
        if (_isScript)
        {
            Held = _keyspace.Scripts.Claim(Held, stripes);
            return true;
        }

        if (TryGrow(stripes)) return true;
        StripeSet all = Held.With(stripes);
        Release(Held);
        gaveUp = !Acquire(all, givesUp);
        return false;
    }

    /// <summary>Takes over stripes that <see cref="ScriptMutex.Claim"/> has locked where the scope itself was out of reach.</summary>
    internal void Include(StripeSet claimed) => Held = Held.With(claimed);

    /// <summary>Releases some of the stripes.</summary>
    internal void Release(StripeSet stripes)
    {
        Held = Held.Without(stripes);
        Exit(stripes);
    }

    /// <summary>Releases all stripes. The scope may be disposed of again, and does nothing then.</summary>
    public void Dispose() => Release(Held);

    // False if the flag is up and a stripe is not free: none is locked then.
    private bool Acquire(StripeSet stripes, WaitFlag? givesUp)
    {
        while (!TryAcquire(stripes, givesUp, out int busy))
        {
            // The script holds this stripe, usually until it ends. This thread waits for it with nothing held.
            if (busy < 0 || !_keyspace.Stripes[busy].EnterOrGiveWay(givesUp)) return false;
            _keyspace.Stripes[busy].Exit();
        }

        Held = stripes;
        return true;
    }

    // False with the stripe that it gave way at, or with -1 if it gave up at the first one.
    private readonly bool TryAcquire(StripeSet stripes, WaitFlag? givesUp, out int busy)
    {
        StripeSet entered = StripeSet.Empty;
        busy = -1;
        foreach (int stripe in stripes)
        {
            if (entered.IsEmpty)
            {
                if (!_keyspace.Stripes[stripe].EnterOrGiveWay(givesUp)) return false;
            }
            else if (!_keyspace.Stripes[stripe].EnterOrGiveWay(_keyspace.Scripts.Claiming))
            {
                Exit(entered);
                busy = stripe;
                return false;
            }

            entered = entered.With(stripe);
        }

        return true;
    }

    private readonly void Exit(StripeSet stripes)
    {
        foreach (int stripe in stripes) _keyspace.Stripes[stripe].Exit();
    }
}
