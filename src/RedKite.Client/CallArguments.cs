namespace RedKite.Server.Client;

/// <summary>A command that is being built: to be executed at once (<see cref="ClientCall"/>), or queued (<see cref="QueuedCall"/>).</summary>
internal interface ICall
{
    /// <summary>The command so far.</summary>
    RequestBuffer Request { get; }

    /// <summary>Ends the call before it was executed.</summary>
    void Abandon();
}

/// <summary>What adds arguments to a command that is being built.</summary>
internal static class CallArguments
{
    internal static TCall Add<TCall>(this TCall call, scoped RedKiteArgument argument)
        where TCall : struct, ICall, allows ref struct
    {
        if (argument.Text is { } text) call.Request.Add(text);
        else call.Request.Add(argument.Bytes);
        return call;
    }

    internal static TCall Add<TCall>(this TCall call, scoped ReadOnlySpan<byte> word)
        where TCall : struct, ICall, allows ref struct
    {
        call.Request.Add(word);
        return call;
    }

    internal static TCall Add<TCall>(this TCall call, long number)
        where TCall : struct, ICall, allows ref struct
    {
        call.Request.Add(number);
        return call;
    }

    internal static TCall Add<TCall>(this TCall call, double number)
        where TCall : struct, ICall, allows ref struct
    {
        call.Request.Add(number);
        return call;
    }

    internal static TCall Add<TCall>(this TCall call, scoped ReadOnlySpan<string> arguments)
        where TCall : struct, ICall, allows ref struct
    {
        for (int i = 0; i < arguments.Length; i++)
        {
            if (arguments[i] is null)
            {
                call.Abandon();
                throw new ArgumentException($"Argument {i} is null.", nameof(arguments));
            }

            call.Request.Add(arguments[i]);
        }

        return call;
    }

    internal static TCall Add<TCall>(this TCall call, scoped ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
        where TCall : struct, ICall, allows ref struct
    {
        foreach (ReadOnlyMemory<byte> argument in arguments) call.Request.Add(argument.Span);
        return call;
    }

    /// <summary>Adds names and values, one after the other.</summary>
    internal static TCall Add<TCall>(this TCall call, IReadOnlyDictionary<string, string> pairs)
        where TCall : struct, ICall, allows ref struct
    {
        call.Request.Add(pairs);
        return call;
    }

    /// <summary>Adds scores and members, one after the other.</summary>
    internal static TCall Add<TCall>(this TCall call, scoped ReadOnlySpan<RedKiteScoredMember> members)
        where TCall : struct, ICall, allows ref struct
    {
        call.Request.Add(members);
        return call;
    }

    /// <summary>Adds a word if it applies.</summary>
    internal static TCall AddIf<TCall>(this TCall call, bool applies, scoped ReadOnlySpan<byte> word)
        where TCall : struct, ICall, allows ref struct
    {
        if (applies) call.Request.Add(word);
        return call;
    }

    /// <summary>Adds a word and a number if there is one.</summary>
    internal static TCall AddIf<TCall>(this TCall call, scoped ReadOnlySpan<byte> word, long? number)
        where TCall : struct, ICall, allows ref struct
    {
        if (number is not { } value) return call;
        call.Request.Add(word);
        call.Request.Add(value);
        return call;
    }
}
