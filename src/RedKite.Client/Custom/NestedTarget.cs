using RedKite.Protocol;
using RedKite.Server.Client;
using RedKite.Server.Model;

namespace RedKite.Server.Custom;

/// <summary>Executes the calls that a custom command makes, inside it and under its locks.</summary>
internal sealed class NestedTarget : CallTarget
{
    private readonly ReplyWriter _reply = new();
    private readonly List<ulong> _keys = []; // hashes of the surrounding command's keys
    private CommandEnvironment? _environment;
    private Command _outer = null!;
    private int _thread;

    internal override ReplyWriter Reply => _reply;

    internal Session Session { get; private set; } = null!;

    internal long NowMs => _environment!.Time.NowMs;

    /// <summary>Whether this thread executes the command.</summary>
    internal bool IsAttached => _environment is not null && _thread == Environment.CurrentManagedThreadId;

    internal void Begin(scoped in CommandContext cmd)
    {
        _outer = cmd.Command;
        Session = cmd.Session;
        _thread = Environment.CurrentManagedThreadId;
        _keys.Clear();
        var keys = new KeyExtraction(cmd.Command);
        while (keys.MoveNext(cmd)) _keys.Add(cmd.Keyspace.Hash(cmd[keys.Argument]));
        _environment = cmd.Environment;
    }

    internal void Detach() => _environment = null;

    internal override void Execute()
    {
        CommandEnvironment environment = _environment!;
        Command? command = Find(environment.Commands);
        if (command is { Subcommands.Length: > 0 } && Request.Count > 1) command = CommandTable.FindSubcommand(command, Request[1]);
        if (command is null) _reply.Error("ERR unknown command called from a custom command"u8);
        else if (!command.Accepts(Request.Count)) _reply.Error($"ERR wrong number of arguments for '{command.FullName}' command");
        else if (Refusal(command) is { } refusal) _reply.Error(refusal);
        else if (!environment.Nested.TryCall(Session, command, Request.Bytes, Request.Slices, _reply, _keys)) _reply.Error($"ERR '{command.FullName}' uses a key that '{_outer.FullName}' does not declare");
    }

    internal override int? ExecuteGet(Span<byte> destination)
    {
        Execute();
        return null;
    }

    internal override void End()
    {
        _reply.Clear();
        Request.Clear();
    }

    private string? Refusal(Command command)
    {
        const CommandFlags Unsuitable = CommandFlags.NoScript | CommandFlags.RunsScript | CommandFlags.NotQueued | CommandFlags.NoMulti | CommandFlags.AllStripes | CommandFlags.WalksStripes;
        if (command.Is(Unsuitable)) return $"ERR '{command.FullName}' is not allowed in a custom command";
        if (!command.Is(CommandFlags.Write)) return null;
        return _outer.Is(CommandFlags.ReadOnly) ? $"ERR '{_outer.FullName}' is declared as read-only" : _environment!.Nested.Admission.WriteRefusal;
    }
}
