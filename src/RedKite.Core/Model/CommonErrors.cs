using RedKite.Server.Metrics;

namespace RedKite.Server.Model;

/// <summary>Errors that handlers of many families reply.</summary>
internal static class CommonErrors
{
    internal static void ReplySyntaxError(this scoped in CommandContext cmd) => cmd.Reply.Error("ERR syntax error"u8);

    /// <summary>Replies that a limit of what clients can make the server keep is reached, and counts that.</summary>
    internal static void ReplyOverLimit(this scoped in CommandContext cmd, Limit limit, string error)
    {
        cmd.Metrics.Limits.Note(limit);
        cmd.Reply.Error(error);
    }

    /// <summary>Replies that a limit is reached, if names that are added exceed max-client-state-bytes.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="addedBytes">Their bytes.</param>
    /// <param name="added">Their number.</param>
    internal static bool IsStateWithinLimitOrReply(this scoped in CommandContext cmd, long addedBytes, int added)
    {
        long bytes = cmd.Session.StateBytes + addedBytes + ((long)added * Session.NameOverhead);
        if (bytes <= cmd.Settings.ClientStateBytesMax)
        {
            if (addedBytes <= ManagedText.FreeBytes || ManagedText.HasRoom(bytes, addedBytes)) return true;
            cmd.ReplyOverLimit(Limit.ClientStateBytes, $"ERR too many bytes of watched keys, subscriptions, prefixes and lists of fields for the process's memory: a client may have {ManagedText.BytesMax}");
            return false;
        }

        cmd.ReplyOverLimit(Limit.ClientStateBytes, $"ERR too many bytes of watched keys, subscriptions, prefixes and lists of fields, max-client-state-bytes is {cmd.Settings.ClientStateBytesMax}");
        return false;
    }
}
