using RedKite.Protocol;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>
/// Records the changes and effects of an executor's invocations, one at a time, as far as observers of the locked stripes need them. Handlers and
/// the store record, the invoker publishes.
/// </summary>
internal sealed class InvocationRecording
{
    // Observers to which changes are reported by key and event.
    private const StripeObservers EventObservers = StripeObservers.BlockedClients | StripeObservers.Events | StripeObservers.WatchedKeys;

    private readonly Keyspace _keyspace;
    private readonly ChangePublisher _publisher;
    private readonly ChangeRecorder _recorder;

    internal InvocationRecording(Keyspace keyspace, ChangePublisher publisher, GlobBudget messagePatterns)
    {
        _keyspace = keyspace;
        _publisher = publisher;
        Changes = new ChangeList(messagePatterns);
        Values = new ValueChanges(keyspace, publisher);
        _recorder = new ChangeRecorder(Changes, Expiries, Values);
    }

    /// <summary>The observers of the locked stripes. Without any, changes are only counted.</summary>
    internal StripeObservers Observers { get; private set; }

    internal bool IsOn => Observers != StripeObservers.None;

    /// <summary>Whether effects have consumers, so that they are worth preparing.</summary>
    internal bool TakesEffects => (Observers & StripeObservers.Effects) != 0;

    /// <summary>Whether effects are the only thing that is observed, and the request is the effect, if it has one.</summary>
    internal bool TakesRequestOnly => Observers == StripeObservers.Effects && Expiries.Count == 0 && Effects.Count == 0 && !Effects.ReplacesRequest;

    /// <summary>Whether a snapshot of the locked stripes is being written.</summary>
    internal bool IsInSnapshot => (Observers & StripeObservers.Snapshot) != 0;

    internal ChangeList Changes { get; }

    /// <summary>What observers of values are told.</summary>
    internal ValueChanges Values { get; }

    /// <summary>The commands that replace the request.</summary>
    internal EffectWriter Effects { get; } = new();

    /// <summary>The commands for keys and fields found expired; they come before the request.</summary>
    internal EffectWriter Expiries { get; } = new();

    /// <summary>Begins an invocation for which one stripe is locked.</summary>
    internal void Begin(Stripe stripe)
    {
        Observers = stripe.Observers;
        if (IsOn) BeginObserved(stripe);
    }

    /// <summary>Begins an invocation. One for which no stripe is locked has effects too: it loads functions, or publishes a message.</summary>
    internal void Begin(StripeSet locked)
    {
        StripeObservers observers = locked.IsEmpty ? _publisher.ObserversWithoutStripe : StripeObservers.None;
        foreach (int index in locked)
        {
            Stripe stripe = _keyspace.Stripes[index];
            observers |= stripe.Observers;
            if (stripe.Observers != StripeObservers.None) stripe.ReportTo(_recorder);
        }

        Observers = observers;
        if (IsOn) Clear();
    }

    /// <summary>Clears what was recorded, once it is published.</summary>
    internal void Clear()
    {
        Changes.Reset((Observers & EventObservers) != 0, _publisher.RecordsOverwritten, _publisher.RecordsFields);
        Values.Reset((Observers & StripeObservers.Values) != 0);
        bool takesEffects = TakesEffects;
        Effects.Reset(takesEffects);
        Expiries.Reset(takesEffects);
    }

    /// <summary>Stops recording, before the stripe is unlocked.</summary>
    internal void Stop()
    {
        if (IsOn) Values.Reset(isOn: false);
        Observers = StripeObservers.None;
    }

    private void BeginObserved(Stripe stripe)
    {
        stripe.ReportTo(_recorder);
        Clear();
    }
}
