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

    /// <summary>Raised while the running script is busy: threads that would wait for it, or for a stripe that it may hold, give up.</summary>
    internal WaitFlag Busy { get; } = new();

    /// <summary>
    /// Raised while the running script waits for a stripe or is busy, so that threads that have executed nothing release what they hold.
    /// </summary>
    internal WaitFlag Claiming { get; } = new();

    /// <summary>Enters if no other thread runs scripts.</summary>
    internal bool TryEnter() => _running.TryEnter();

    /// <summary>Waits until no other thread runs scripts. No stripe is locked.</summary>
    /// <returns>False once a script runs so long that threads stop waiting for it (<see cref="NoteBusy"/>).</returns>
    internal bool Enter() => Enter(Busy);

    /// <summary>The same, until another flag is up (<see cref="WakeAll"/>).</summary>
    internal bool Enter(WaitFlag givesUp) => _running.EnterBySleeping(givesUp);

    internal void Exit() => _running.Exit();

    /// <summary>Marks the running script as busy: threads that wait for its end or for its stripes stop waiting.</summary>
    internal void NoteBusy()
    {
        Busy.Raise();
        Claiming.Raise();
        WakeAll();
    }

    /// <summary>Wakes the threads that sleep here or at a stripe, so that they look at the flag that they give way to.</summary>
    internal void WakeAll()
    {
        _running.WakeAll();
        foreach (Stripe stripe in stripes) stripe.WakeAll();
    }

    /// <summary>Ends that mark, because the script is about to end.</summary>
    internal void NoteBusyEnded()
    {
        Busy.Lower();
        Claiming.Lower();
    }

    /// <summary>Locks the stripes that the running script does not hold yet. It waits for as long as it must.</summary>
    /// <param name="held">The stripes that the script holds.</param>
    /// <param name="needed">The stripes that it needs.</param>
    /// <returns>The stripes that it holds now.</returns>
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
        Claiming.Raise();

        // For each stripe again: threads may have gone to sleep at one that was claimed before.
        foreach (int owned in held) stripes[owned].WakeAll();
        stripe.Enter();
        Claiming.Lower();
    }
}
