using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Sorting;

/// <summary>The options of SORT and SORT_RO. BY, STORE, LIMIT and the order may be repeated; the last one counts.</summary>
internal struct SortOptions
{
    private const int FirstOption = 2;

    private int _pattern; // the argument of the last option, if that is BY or GET
    private bool _usesBy; // the last BY has an asterisk

    /// <summary>DESC.</summary>
    internal bool Descending { get; private set; }

    /// <summary>ALPHA: compare bytes, not numbers.</summary>
    internal bool IsAlpha { get; private set; }

    /// <summary>The argument of BY's pattern; 0: sort by the elements themselves.</summary>
    internal int By { get; private set; }

    /// <summary>Whether BY's pattern has no asterisk, so that nothing is sorted.</summary>
    internal bool KeepsOrder { get; private set; }

    /// <summary>The number of GET options.</summary>
    internal int Gets { get; private set; }

    /// <summary>The bytes of the GET patterns that name keys.</summary>
    internal long GetBytes { get; private set; }

    /// <summary>The argument of STORE's key; 0: the result is replied.</summary>
    internal int Store { get; private set; }

    /// <summary>The number of elements to skip.</summary>
    internal long Offset { get; private set; }

    /// <summary>The maximum number of elements; negative: all.</summary>
    internal long CountMax { get; private set; }

    internal static bool TryParseOrReply(scoped in CommandContext cmd, bool mayStore, out SortOptions result)
    {
        result = new SortOptions { CountMax = -1 };
        var options = new OptionReader(cmd, FirstOption);
        while (options.More)
        {
            if (options.Take("ASC"u8))
            {
                result.Descending = false;
            }
            else if (options.TakeWithValues("LIMIT"u8, 2, out int value))
            {
                if (!cmd.TryIntegerOrReply(value, out long offset) || !cmd.TryIntegerOrReply(value + 1, out long countMax)) return false;
                result.Offset = offset;
                result.CountMax = countMax;
            }
            else if (!result.TryTake(ref options, cmd, mayStore))
            {
                cmd.ReplySyntaxError();
                return false;
            }
            else if (!result.AreKeysHereOrReply(cmd) || !result.AreKeysAllowedOrReply(cmd))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Sorts by the elements' bytes instead of keeping their order.</summary>
    internal void OrderByText()
    {
        KeepsOrder = false;
        IsAlpha = true;
        By = 0;
    }

    /// <summary>Finds STORE among a request's options, to extract its keys; -1 if there is none.</summary>
    internal static int FindStore(scoped in CommandContext cmd, int start)
    {
        int found = -1;
        var options = new OptionReader(cmd, start + FirstOption);
        while (options.More)
        {
            int at = options.Position;
            if (options.TakeWithValue("STORE"u8, out _)) found = at;
            else if (!options.TakeWithValue("BY"u8, out _) && !options.TakeWithValue("GET"u8, out _) && !options.TakeWithValues("LIMIT"u8, 2, out _)) options.TakeAny(out _);
        }

        return found;
    }

    /// <summary>Whether patterns look up keys that are not arguments.</summary>
    internal static bool UsesPatterns(scoped in CommandContext cmd)
    {
        var options = new OptionReader(cmd, FirstOption);
        while (options.More)
        {
            if (options.TakeWithValue("BY"u8, out int pattern) || options.TakeWithValue("GET"u8, out pattern))
            {
                if (cmd[pattern].Contains((byte)'*')) return true;
            }
            else if (!options.TakeWithValue("STORE"u8, out _) && !options.TakeWithValues("LIMIT"u8, 2, out _))
            {
                options.TakeAny(out _);
            }
        }

        return false;
    }

    /// <summary>Reads the patterns of GET, in their order.</summary>
    internal readonly SortPattern[] ReadGets(scoped in CommandContext cmd)
    {
        if (Gets == 0) return [];
        var gets = new SortPattern[Gets];
        int count = 0;
        var options = new OptionReader(cmd, FirstOption);
        while (options.More)
        {
            SortPattern.ReadSteps++;
            if (options.TakeWithValue("GET"u8, out int pattern)) gets[count++] = SortPattern.Read(cmd, pattern);
            else if (!options.TakeWithValue("BY"u8, out _) && !options.TakeWithValue("STORE"u8, out _) && !options.TakeWithValues("LIMIT"u8, 2, out _)) options.TakeAny(out _);
        }

        return gets;
    }

    // The patterns of BY and GET name keys that are no arguments, so the client's user must have access to all keys.
    private readonly bool AreKeysAllowedOrReply(scoped in CommandContext cmd)
    {
        if (_pattern == 0 || (!_usesBy && Gets == 0) || cmd.Session.User.Permissions is not { } permissions || permissions.AllowsAnyKey(cmd, KeyAccess.Read)) return true;
        if (_usesBy) cmd.Reply.Error("ERR BY option of SORT denied due to insufficient ACL permissions."u8);
        else cmd.Reply.Error("ERR GET option of SORT denied due to insufficient ACL permissions."u8);
        return false;
    }

    // In a cluster, all keys that a pattern may name must be in the slot of the key that is sorted.
    private readonly bool AreKeysHereOrReply(scoped in CommandContext cmd)
    {
        if (!cmd.Settings.ClusterEnabled || _pattern == 0) return true;
        bool isBy = _pattern == By;
        ReadOnlySpan<byte> pattern = cmd[_pattern];
        if (isBy ? !pattern.Contains((byte)'*') : pattern is [(byte)'#']) return true;
        if (SlotOfPattern(pattern) == KeySlot.Of(cmd[1])) return true;
        if (isBy) cmd.Reply.Error("ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."u8);
        else cmd.Reply.Error("ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."u8);
        return false;
    }

    // What an element stands for may have braces, so the tag must be in front of it.
    private static int SlotOfPattern(ReadOnlySpan<byte> pattern)
    {
        int star = pattern.IndexOf((byte)'*');
        if (star < 0) return KeySlot.Of(pattern);
        int open = pattern.IndexOf((byte)'{'), length = open < 0 ? -1 : pattern[(open + 1)..].IndexOf((byte)'}');
        return length > 0 && open + 1 + length < star ? KeySlot.Of(pattern) : KeySlot.None;
    }

    private bool TryTake(ref OptionReader options, scoped in CommandContext cmd, bool mayStore)
    {
        _pattern = 0;
        if (options.Take("DESC"u8))
        {
            Descending = true;
        }
        else if (options.Take("ALPHA"u8))
        {
            IsAlpha = true;
        }
        else if (mayStore && options.TakeWithValue("STORE"u8, out int value))
        {
            Store = value;
        }
        else if (options.TakeWithValue("BY"u8, out value))
        {
            By = _pattern = value;
            _usesBy = SortPattern.Read(cmd, value).NamesKeys;
            KeepsOrder |= !_usesBy;
        }
        else if (options.TakeWithValue("GET"u8, out value))
        {
            Gets++;
            _pattern = value;
            if (SortPattern.Read(cmd, value).NamesKeys) GetBytes += cmd[value].Length;
        }
        else
        {
            return false;
        }

        return true;
    }
}
