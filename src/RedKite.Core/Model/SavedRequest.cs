using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// A request that outlives its input: that of a blocked client, to be executed again.
/// </summary>
internal sealed class SavedRequest
{
    // The object and the two arrays.
    private const int Overhead = 64 + (2 * 24);
    private const int ArgumentOverhead = 8;

    private SavedRequest(Command command, int databaseIndex, ulong firstKeyHash, byte[] input, ArgumentSlice[] arguments)
    {
        Command = command;
        DatabaseIndex = databaseIndex;
        FirstKeyHash = firstKeyHash;
        Input = input;
        Arguments = arguments;
    }

    internal Command Command { get; }

    /// <summary>The selected database.</summary>
    internal int DatabaseIndex { get; }

    /// <inheritdoc cref="ArgumentList.Redacted"/>
    internal ulong Redacted { get; private init; }

    internal ulong FirstKeyHash { get; }

    /// <summary>Memory of the request, roughly.</summary>
    internal long KeptBytes => Input.Length + ((long)Arguments.Length * ArgumentOverhead) + Overhead;

    /// <summary>The bytes of all arguments.</summary>
    internal byte[] Input { get; }

    internal ArgumentSlice[] Arguments { get; }

    internal ReadOnlySpan<byte> this[int argument] => Input.AsSpan(Arguments[argument].Start, Arguments[argument].Length);

    /// <summary>Copies a request, with other values for some arguments.</summary>
    internal static SavedRequest Of(scoped in CommandContext cmd, List<(int Argument, byte[] Value)>? replacements = null)
    {
        byte[]?[]? replaced = replacements is null ? null : new byte[]?[cmd.Count];
        foreach ((int argument, byte[] value) in replacements ?? []) replaced![argument] = value;
        int bytes = 0;
        for (int i = 0; i < cmd.Count; i++) bytes += replaced?[i]?.Length ?? cmd[i].Length;
        var input = new byte[bytes];
        var arguments = new ArgumentSlice[cmd.Count];
        int at = 0;
        for (int i = 0; i < cmd.Count; i++)
        {
            ReadOnlySpan<byte> value = replaced?[i] is { } other ? other : cmd[i];
            value.CopyTo(input.AsSpan(at));
            arguments[i] = new ArgumentSlice(at, value.Length);
            at += value.Length;
        }

        ulong firstKeyHash = cmd.Command.FirstKey > 0 && cmd.Command.FirstKey < cmd.Count ? cmd.HashOf(cmd.Command.FirstKey) : 0;
        return new SavedRequest(cmd.Command, cmd.Database.Index, firstKeyHash, input, arguments) { Redacted = cmd.Arguments.Redacted };
    }
}
