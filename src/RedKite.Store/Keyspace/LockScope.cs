using System.Runtime.CompilerServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// Stripes that the current thread has locked, until the scope is disposed of. A scope waits for a stripe only while it
/// holds none but lower ones that it has not used yet, so that scopes never wait for each other in a circle.
/// </summary>
/// <remarks>
/// A ref struct: it lives on the stack of the thread that took the locks. Pass it by reference; a copy would release what
/// the original still holds.
/// </remarks>
internal ref struct LockScope
{
    // A stripe is held for about a microsecond as a rule; growing tries for about as long as a thread spins before it parks.
    private const int TriesMax = 64;
    private const int SpinIterations = 8;

    private readonly Keyspace _keyspace;

    /// <summary>Locks stripes, in ascending order.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal LockScope(Keyspace keyspace, StripeSet stripes)
    {
        _keyspace = keyspace;
        Acquire(stripes);
    }

    private LockScope(Keyspace keyspace)
    {
        _keyspace = keyspace;
    }

    /// <summary>The stripes that are locked.</summary>
    internal StripeSet Held { readonly get; private set; }

    /// <summary>A scope over stripes that the current thread has entered by itself, and that the scope is to release.</summary>
    internal static LockScope Adopt(Keyspace keyspace, StripeSet held) => new(keyspace) { Held = held };

    /// <summary>Locks further stripes, all or none, lower ones than those that are held included. It does not wait for any.</summary>
    /// <returns>False when one of them stayed locked by another thread.</returns>
    internal bool TryGrow(StripeSet stripes)
    {
        StripeSet missing = stripes.Without(Held);
        StripeSet entered = StripeSet.Empty;
        foreach (int stripe in missing)
        {
            if (!TryEnter(_keyspace.Stripes[stripe]))
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
    /// Locks further stripes, and waits for them if it must: then all stripes are released and locked anew in ascending order.
    /// </summary>
    /// <returns>
    /// Whether the stripes stayed locked throughout. If not, other threads may have changed everything in between.
    /// </returns>
    internal bool Grow(StripeSet stripes)
    {
        if (TryGrow(stripes)) return true;
        StripeSet all = Held.With(stripes);
        Release(Held);
        Acquire(all);
        return false;
    }

    /// <summary>Releases some of the stripes.</summary>
    internal void Release(StripeSet stripes)
    {
        Held = Held.Without(stripes);
        Exit(stripes);
    }

    /// <summary>Releases all stripes. The scope may be disposed of again, and does nothing then.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Dispose()
    {
        StripeSet held = Held;
        Held = StripeSet.Empty;
        Exit(held);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Acquire(StripeSet stripes)
    {
        foreach (int stripe in stripes) _keyspace.Stripes[stripe].Enter();
        Held = stripes;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly void Exit(StripeSet stripes)
    {
        foreach (int stripe in stripes) _keyspace.Stripes[stripe].Exit();
    }

    private static bool TryEnter(Stripe stripe)
    {
        for (int i = 0; i < TriesMax; i++)
        {
            if (stripe.TryEnter()) return true;
            Thread.SpinWait(SpinIterations);
        }

        return false;
    }
}
