namespace RedKite.Store.Keyspace;

/// <summary>
/// Admits one script at a time, and lets it lock stripes that it has not declared. Commands on other stripes continue.
/// </summary>
/// <remarks>
/// A script that needs a further stripe has executed already, so it cannot release what it holds. It claims the stripe: a
/// flag goes up, and it waits. Threads that wait for a stripe while they hold others have executed nothing; they see the
/// flag, release their stripes and start again. A thread that sleeps until one of the script's own stripes is free cannot see
/// the flag: it is woken. Rejected: locking every stripe for a script that may touch any key, because then every script that
/// builds a key's name stops all other clients.
/// </remarks>
internal sealed class ScriptMutex(Stripe[] stripes)
{
    private StripeLock _running = new();
    private int _claiming;

    /// <summary>Whether the running script waits for a stripe, so that threads which have executed nothing give way.</summary>
    internal bool IsClaiming => Volatile.Read(ref _claiming) != 0;

    /// <summary>Waits until no other script runs. No stripe is locked.</summary>
    internal void Enter() => _running.Enter();

    internal void Exit() => _running.Exit();

    /// <summary>Locks the stripes that the running script does not hold yet. It waits for as long as it must.</summary>
    /// <param name="held">What the script holds.</param>
    /// <param name="needed">What it needs.</param>
    /// <returns>What it holds now.</returns>
    internal StripeSet Claim(StripeSet held, StripeSet needed)
    {
        foreach (int stripe in needed.Without(held))
        {
            if (!stripes[stripe].TryEnterSoon()) EnterByClaim(stripes[stripe], held);
            held = held.With(stripe);
        }

        return held;
    }

    private void EnterByClaim(Stripe stripe, StripeSet held)
    {
        Interlocked.Exchange(ref _claiming, 1);

        // For each stripe anew: threads may have gone to sleep at one that was claimed before.
        foreach (int owned in held) stripes[owned].WakeAll();
        stripe.Enter();
        Volatile.Write(ref _claiming, 0);
    }
}
