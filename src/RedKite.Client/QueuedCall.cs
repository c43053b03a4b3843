namespace RedKite.Server.Client;

/// <summary>
/// A command that is being queued: arguments are added, then one of the methods with a result queues it. What <see cref="ClientCall"/> is to a call that is
/// executed at once.
/// </summary>
internal readonly ref struct QueuedCall(RedKiteQueue queue) : ICall
{
    public RequestBuffer Request => queue.Request;

    public void Abandon() => queue.Request.Clear();

    internal RedKiteQueued Done() => queue.Enqueue(new RedKiteQueued());

    /// <summary>Anything but null or zero.</summary>
    internal RedKiteQueued<bool> IsDone() => As(static reply => !reply.IsNull && (reply.Kind != ReplyKind.Integer || reply.Integer != 0));

    internal RedKiteQueued<long> Integer() => As(static reply => reply.Integer);

    internal RedKiteQueued<long?> IntegerOrNull() => As(static reply => reply.IsNull ? (long?)null : reply.Integer);

    internal RedKiteQueued<double> Double() => As(static reply => ReplyText.Double(reply.Bytes.Span));

    internal RedKiteQueued<double?> DoubleOrNull() => As(static reply => reply.IsNull ? (double?)null : ReplyText.Double(reply.Bytes.Span));

    internal RedKiteQueued<byte[]> Bytes() => As(static reply => reply.Bytes.ToArray());

    internal RedKiteQueued<byte[]?> BytesOrNull() => As(static reply => reply.IsNull ? null : reply.Bytes.ToArray());

    internal RedKiteQueued<string> Text() => As(static reply => reply.Text!);

    internal RedKiteQueued<string?> TextOrNull() => As(static reply => reply.Text);

    /// <summary>A flat array; an empty one for a null.</summary>
    internal RedKiteQueued<RedKiteItems> Items() => As(RedKiteItems.Of);

    /// <summary>A flat array of pairs; an empty one for a null.</summary>
    internal RedKiteQueued<RedKitePairs> Pairs() => As(static reply => RedKitePairs.Of(RedKiteItems.Of(reply)));

    internal RedKiteQueued<RedKiteReply> Tree() => As(static reply => reply);

    internal RedKiteQueued<T> As<T>(Func<RedKiteReply, T> read) => queue.Enqueue(new RedKiteQueued<T>(read));
}
