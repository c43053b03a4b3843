using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>
/// The consumers of a server's changes and effects. The lists change only while every stripe is locked, and are read with one locked. A
/// command may hold stripes (in a transaction), so its requests take effect after it.
/// </summary>
/// <remarks>
/// A command without keys holds no stripe, unless it is a caller's in the process, which no one waits for otherwise. One that changes functions holds the script mutex: a consumer that needs to know exactly which of their
/// effects a consumer has received holds it too, outside of the stripes. Messages have no such order.
/// </remarks>
/// <param name="keyspace">The keys.</param>
/// <param name="haveNextCommandApply">Makes every later command call <see cref="ApplyUnlessBusy"/> before it executes, or no longer.</param>
internal sealed class ChangePublisher(Keyspace keyspace, Action<bool> haveNextCommandApply)
{
    private readonly Lock _requesting = new();
    private IChangeConsumer[] _consumers = [];
    private IChangeConsumer[] _requested = [];
    private volatile IEffectConsumer[] _effectConsumers = []; // also read without a stripe
    private IEffectConsumer[] _requestedEffects = [];
    private IValueObserver[] _valueObservers = [];
    private volatile IValueObserver[] _requestedValues = []; // also read without the lock
    private volatile bool _hasRequests;
    private bool _isPutOff;

    /// <summary>Whether a consumer needs <see cref="KeyEvent.Overwritten"/> and <see cref="KeyEvent.TypeChanged"/>. From any thread.</summary>
    internal volatile bool RecordsOverwritten;

    /// <summary>Whether a consumer needs the fields that commands change. From any thread.</summary>
    internal volatile bool RecordsFields;

    /// <summary>Whether <see cref="Apply"/> has something to do.</summary>
    internal bool HasRequests => _hasRequests;

    /// <summary>Whether all consumers of effects take requests as they were received. Read with a stripe locked.</summary>
    internal bool TakesRequests { get; private set; }

    /// <summary>The observers of a command for which no stripe is locked.</summary>
    internal StripeObservers ObserversWithoutStripe => _effectConsumers.Length > 0 ? StripeObservers.Effects : StripeObservers.None;

    /// <summary>Adds a consumer: it receives all invocations from the next one on. No stripe is locked.</summary>
    internal void Subscribe(IChangeConsumer consumer)
    {
        Request(consumer, isOn: true);
        Apply();
    }

    internal void Unsubscribe(IChangeConsumer consumer)
    {
        Request(consumer, isOn: false);
        Apply();
    }

    /// <summary>Adds a consumer of effects: it receives those of all invocations from the next one on. No stripe is locked.</summary>
    internal void SubscribeToEffects(IEffectConsumer consumer)
    {
        RequestEffects(consumer, isOn: true);
        Apply();
    }

    internal void UnsubscribeFromEffects(IEffectConsumer consumer)
    {
        RequestEffects(consumer, isOn: false);
        Apply();
    }

    /// <summary>Adds an observer of values: it sees all invocations from the next one on. No stripe is locked.</summary>
    internal void ObserveValues(IValueObserver observer)
    {
        lock (_requesting) _hasRequests |= TryChange(observer, isOn: true);
        Apply();
    }

    /// <summary>Requests that an observer of values be added after the command that is executing. From any thread.</summary>
    internal void RequestValues(IValueObserver observer)
    {
        lock (_requesting) _hasRequests |= TryChange(observer, isOn: true);
    }

    /// <summary>Whether an observer sees the invocations that begin from now on. Without a stripe locked, it may see them already when this says that it does not.</summary>
    internal bool Observes(IValueObserver observer) => Volatile.Read(ref _valueObservers).Contains(observer);

    internal void EndObservingValues(IValueObserver observer)
    {
        lock (_requesting) _hasRequests |= TryChange(observer, isOn: false);
        Apply();
    }

    /// <summary>Requests that a consumer be added or removed after the command that is executing. From any thread.</summary>
    internal void Request(IChangeConsumer consumer, bool isOn)
    {
        lock (_requesting) _hasRequests |= TryChange(ref _requested, consumer, isOn);
    }

    /// <inheritdoc cref="Request"/>
    internal void RequestEffects(IEffectConsumer consumer, bool isOn)
    {
        lock (_requesting) _hasRequests |= TryChange(ref _requestedEffects, consumer, isOn);
    }

    /// <summary>
    /// Adds and removes the consumers as requested, on a thread that serves clients: if a script is busy it does not wait, and no later command executes
    /// before the consumers were added (<c>haveNextCommandApply</c>). No stripe is locked.
    /// </summary>
    internal void ApplyUnlessBusy()
    {
        if (keyspace.TryLockAll(keyspace.Scripts.Busy, out LockScope locked))
        {
            using (locked) ApplyLocked();
            return;
        }

        lock (_requesting) haveNextCommandApply(_isPutOff = _hasRequests);
    }

    /// <summary>Adds and removes the consumers as requested, and waits for the stripes. Not on a loop's thread. No stripe is locked.</summary>
    internal void Apply()
    {
        using LockScope locked = keyspace.LockAll();
        ApplyLocked();
    }

    /// <summary>Adds and removes the consumers as requested. All stripes are locked.</summary>
    internal void ApplyLocked()
    {
        lock (_requesting)
        {
            _consumers = _requested;
            _effectConsumers = _requestedEffects;
            _valueObservers = _requestedValues;
            TakesRequests = Array.TrueForAll(_effectConsumers, static consumer => consumer.TakesRequests);
            _hasRequests = false;
            if (_isPutOff) haveNextCommandApply(_isPutOff = false);
        }

        foreach (Stripe stripe in keyspace.Stripes)
        {
            stripe.Observe(StripeObservers.Events, _consumers.Length > 0);
            stripe.Observe(StripeObservers.Effects, _effectConsumers.Length > 0);
            stripe.Observe(StripeObservers.Values, _valueObservers.Length > 0);
        }
    }

    internal void Publish(ChangeList changes)
    {
        foreach (IChangeConsumer consumer in _consumers) consumer.Published(changes);
    }

    /// <summary>A value that exists is about to change. Its stripe is locked.</summary>
    internal void Changing(Database database, ulong hash, scoped in Entry old)
    {
        foreach (IValueObserver observer in _valueObservers) observer.Changing(database, hash, old);
    }

    internal void Publish(ValueChanges changes)
    {
        foreach (IValueObserver observer in _valueObservers) changes.Tell(observer);
    }

    /// <summary>Tells the observers of values that all data was loaded, or some of it. No stripe is locked.</summary>
    internal void NoteReplaced()
    {
        if (_requestedValues.Length == 0) return;
        using LockScope locked = keyspace.LockAll();
        foreach (IValueObserver observer in _valueObservers)
        {
            foreach (Database database in keyspace.Databases) observer.Replaced(database);
        }
    }

    internal void Publish(scoped in EffectRecord record)
    {
        foreach (IEffectConsumer consumer in _effectConsumers) consumer.Published(record);
    }

    /// <summary>Publishes requests in the protocol's form, one behind the other; each is the only effect of its command.</summary>
    internal void PublishRequests(int database, int slot, ReadOnlySpan<byte> requests)
    {
        foreach (IEffectConsumer consumer in _effectConsumers) consumer.PublishedRequests(database, slot, requests);
    }

    private bool TryChange(IValueObserver observer, bool isOn)
    {
        IValueObserver[] requested = _requestedValues;
        bool isChanged = TryChange(ref requested, observer, isOn);
        _requestedValues = requested;
        return isChanged;
    }

    private static bool TryChange<T>(ref T[] consumers, T consumer, bool isOn)
        where T : class
    {
        if (consumers.Contains(consumer) == isOn) return false;
        consumers = isOn ? [.. consumers, consumer] : [.. consumers.Where(other => other != consumer)];
        return true;
    }
}
