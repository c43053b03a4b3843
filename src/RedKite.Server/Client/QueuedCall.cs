namespace RedKite.Server.Client;

/// <summary>
/// A command that is being queued: arguments are added, then one of the methods with a result queues it. What <see cref="ClientCall"/> is to a call that is
/// executed at once.
/// </summary>
internal readonly ref struct QueuedCall(RedKiteQueue queue)
{
    internal QueuedCall Add(scoped RedKiteArgument argument)
    {
        if (argument.Text is { } text) queue.Request.Add(text);
        else queue.Request.Add(argument.Bytes);
        return this;
    }

    internal QueuedCall Add(scoped ReadOnlySpan<byte> word)
    {
        queue.Request.Add(word);
        return this;
    }

    internal QueuedCall Add(long number)
    {
        queue.Request.Add(number);
        return this;
    }

    internal QueuedCall Add(double number)
    {
        queue.Request.Add(number);
        return this;
    }

    internal QueuedCall Add(scoped ReadOnlySpan<string> arguments)
    {
        foreach (string argument in arguments) queue.Request.Add(argument ?? throw new ArgumentException("An argument of the command is null.", nameof(arguments)));
        return this;
    }

    internal QueuedCall Add(scoped ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        foreach (ReadOnlyMemory<byte> argument in arguments) queue.Request.Add(argument.Span);
        return this;
    }

    /// <summary>Adds names and values, one after the other.</summary>
    internal QueuedCall Add(IReadOnlyDictionary<string, string> pairs)
    {
        queue.Request.Add(pairs);
        return this;
    }

    /// <summary>Adds scores and members, one after the other.</summary>
    internal QueuedCall Add(scoped ReadOnlySpan<RedKiteScoredMember> members)
    {
        queue.Request.Add(members);
        return this;
    }

    /// <summary>Adds a word if it applies.</summary>
    internal QueuedCall AddIf(bool applies, scoped ReadOnlySpan<byte> word)
    {
        if (applies) queue.Request.Add(word);
        return this;
    }

    /// <summary>Adds a word and a number if there is one.</summary>
    internal QueuedCall AddIf(scoped ReadOnlySpan<byte> word, long? number)
    {
        if (number is not { } value) return this;
        queue.Request.Add(word);
        queue.Request.Add(value);
        return this;
    }

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
