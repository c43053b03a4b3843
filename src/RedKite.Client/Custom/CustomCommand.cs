using System.Collections.Concurrent;
using System.Globalization;
using System.Reflection;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Client;
using RedKite.Server.Logging;
using RedKite.Server.Model;

namespace RedKite.Server.Custom;

/// <summary>
/// A host's method as a row of the command table. Its parameters are bound once, when the server starts; then a request's arguments are converted, the method is called in a unit
/// whose effects are logged and replicated together, as a script's are, and what it returns is the reply.
/// </summary>
internal sealed class CustomCommand
{
    private readonly RedKiteCommandSet.Entry _entry;
    private readonly MethodInvoker _invoker;
    private readonly Parameter[] _parameters;
    private readonly int _required; // arguments, without the name
    private readonly bool _hasRest;
    private readonly ServerLog _log;
    private readonly ConcurrentBag<RedKiteCommandKeys> _keys = [];
    private readonly Type _returnType;

    /// <exception cref="ArgumentException">A parameter cannot be bound.</exception>
    internal CustomCommand(RedKiteCommandSet.Entry entry, ServerLog log)
    {
        _entry = entry;
        _log = log;
        _invoker = MethodInvoker.Create(entry.Method);
        _returnType = entry.Method.ReturnType;
        if (typeof(Task).IsAssignableFrom(_returnType) || _returnType == typeof(ValueTask)) throw new ArgumentException($"{entry.Name} returns a task: it would wait with its keys locked");
        _parameters = [.. entry.Method.GetParameters().Select(parameter => new Parameter(entry.Name, parameter))];
        if (_parameters.Take(_parameters.Length - 1).Any(static parameter => parameter.IsRest)) throw new ArgumentException($"{entry.Name}: only the last parameter may be an array of strings");
        _hasRest = _parameters is [.., { IsRest: true }];
        _required = _parameters.Count(static parameter => parameter is { IsArgument: true, IsOptional: false, IsRest: false });
        Row = NewRow();
        // Checked here: COMMAND DOCS parses these names, and could only fail.
        try
        {
            _ = Row.Arguments;
        }
        catch (FormatException fault)
        {
            throw new ArgumentException($"{entry.Name}: the names of its parameters cannot be documented: {fault.Message}", fault);
        }
    }

    internal Command Row { get; }

    private Command NewRow()
    {
        RedKiteCommandOptions options = _entry.Options;
        KeyFlags use = options.IsReadOnly ? KeyFlags.ReadOnly | KeyFlags.Access : KeyFlags.ReadWrite | KeyFlags.Access | KeyFlags.Update;
        var keys = new List<KeySpec>();
        var syntax = new StringBuilder();
        int at = 0;
        foreach (Parameter parameter in _parameters)
        {
            if (!parameter.IsArgument) continue;
            at++;
            if (parameter.IsKey) keys.Add(new KeySpec(at, parameter.IsRest ? -1 : at, 1, use));
            string name = parameter.Name + parameter.Notation;
            syntax.Append(at > 1 ? " " : "").Append(parameter.IsRest ? $"[{name} ...]" : parameter.IsOptional ? $"[{name}]" : name);
        }

        bool isFixed = !_hasRest && !_parameters.Any(static parameter => parameter.IsOptional);
        CommandFlags flags = options.IsReadOnly ? CommandFlags.ReadOnly : CommandFlags.Write | CommandFlags.DenyOom;
        string summary = options.Summary.Length > 0 ? options.Summary : "A command of the server's host.";
        return new Command(_entry.Name.ToUpperInvariant(), isFixed ? 1 + _required : -(1 + _required), flags, [.. keys], Run, new CommandDoc(ServerVersion.Text, "Depends on the host's code.", summary, syntax.ToString()))
        {
            Categories = options.Category.Length == 0 ? AclCategory.None : AclCategories.Find(Encoding.ASCII.GetBytes(options.Category)),
        };
    }

    // NAME [key ...] [argument ...]
    private void Run(ref CommandContext cmd)
    {
        if (!_hasRest && cmd.Count - 1 > _parameters.Count(static parameter => parameter.IsArgument))
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return;
        }

        if (!TryBindOrReply(cmd, out object?[] arguments)) return;
        if (!_keys.TryTake(out RedKiteCommandKeys? keys)) keys = new RedKiteCommandKeys();
        for (int i = 0; i < _parameters.Length; i++)
        {
            if (!_parameters[i].IsArgument) arguments[i] = keys;
        }

        object? result = null;
        string? error = null;
        cmd.Environment.Nested.BeginUnit();
        keys.Begin(cmd);
        bool isOutermost = LockedKeys.Begin();
        try
        {
            result = _invoker.Invoke(_entry.Target, arguments.AsSpan());
        }
#pragma warning disable CA1031 // The host's method may throw anything; what a nested command's handler throws has ended the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            error = Describe(failure is TargetInvocationException { InnerException: { } inner } ? inner : failure);
        }
        finally
        {
            if (isOutermost) LockedKeys.End();
            keys.End();
            cmd.Environment.Nested.EndUnit();
            _keys.Add(keys);
        }

        if (error is not null) cmd.Reply.Error(error);
        else Reply(cmd.Reply, result);
    }

    private bool TryBindOrReply(scoped in CommandContext cmd, out object?[] arguments)
    {
        arguments = new object?[_parameters.Length];
        int at = 1;
        for (int i = 0; i < _parameters.Length; i++)
        {
            Parameter parameter = _parameters[i];
            if (!parameter.IsArgument) continue;
            if (parameter.IsRest)
            {
                var rest = new string[Math.Max(0, cmd.Count - at)];
                for (int j = 0; j < rest.Length; j++) rest[j] = Encoding.UTF8.GetString(cmd[at + j]);
                arguments[i] = rest;
            }
            else if (at >= cmd.Count)
            {
                arguments[i] = parameter.Default;
            }
            else if (!parameter.TryRead(cmd[at], out arguments[i]))
            {
                cmd.Reply.Error($"ERR value of '{parameter.Name}' is not {parameter.Wanted}");
                return false;
            }

            at++;
        }

        return true;
    }

    private string Describe(Exception failure)
    {
        if (failure is RedKiteException) return failure.Message;
        _log.Warning(LogEvents.CustomCommandFailed, $"The custom command '{Row.FullName}' failed: {failure}");
        return failure is InvalidOperationException { Message: LockedKeys.Message } ? "ERR " + failure.Message : $"ERR the command '{Row.FullName}' failed, see the server's log";
    }

    private void Reply(ReplyWriter reply, object? result)
    {
        switch (result)
        {
            case null:
                if (_returnType == typeof(void)) reply.Ok();
                else reply.Null();
                break;
            case string text:
                reply.Bulk(Encoding.UTF8.GetBytes(text));
                break;
            case byte[] bytes:
                reply.Bulk(bytes);
                break;
            case ReadOnlyMemory<byte> memory:
                reply.Bulk(memory.Span);
                break;
            case bool value:
                reply.Boolean(value);
                break;
            case double value:
                reply.Double(value);
                break;
            case RedKiteItems items:
                Write(reply, items);
                break;
            case RedKitePairs pairs:
                Write(reply, pairs.Alternating);
                break;
            case IEnumerable<string?> texts:
                string?[] list = [.. texts];
                reply.Array(list.Length);
                foreach (string? item in list)
                {
                    if (item is null) reply.Null();
                    else reply.Bulk(Encoding.UTF8.GetBytes(item));
                }

                break;
            default:
                if (result is int or long or short or byte or uint) reply.Integer(Convert.ToInt64(result, CultureInfo.InvariantCulture));
                else reply.Error($"ERR '{Row.FullName}' returned a {result.GetType().Name}, which is no reply");
                break;
        }
    }

    private static void Write(ReplyWriter reply, RedKiteItems items)
    {
        reply.Array(items.Count);
        foreach (RedKiteItem item in items)
        {
            if (item.IsNull) reply.Null();
            else reply.Bulk(item.Bytes);
        }

        items.Dispose();
    }

    // A parameter of the method, and how an argument becomes one.
    private sealed class Parameter
    {
        internal Parameter(string command, ParameterInfo parameter)
        {
            Name = parameter.Name ?? "argument";
            Type = parameter.ParameterType;
            IsKey = parameter.IsDefined(typeof(RedKiteKeyAttribute), inherit: false);
            IsArgument = Type != typeof(RedKiteCommandKeys);
            IsRest = Type == typeof(string[]);
            IsOptional = parameter.HasDefaultValue;
            Default = parameter.HasDefaultValue ? parameter.DefaultValue : null;
            if (IsArgument && !IsRest && Wanted.Length == 0) throw new ArgumentException($"{command}: the parameter '{Name}' has the type {Type.Name}, which no argument can be converted to");
        }

        internal string Name { get; }

        internal Type Type { get; }

        internal bool IsKey { get; }

        internal bool IsArgument { get; }

        internal bool IsRest { get; }

        internal bool IsOptional { get; }

        internal object? Default { get; }

        internal string Wanted =>
            Type == typeof(int) || Type == typeof(long) ? "an integer or out of range"
            : Type == typeof(double) ? "a valid float"
            : Type == typeof(bool) ? "0 or 1"
            : Type == typeof(string) || Type == typeof(byte[]) || Type == typeof(ReadOnlyMemory<byte>) ? "a string"
            : "";

        internal string Notation => IsKey ? ":key" : Type == typeof(int) || Type == typeof(long) || Type == typeof(bool) ? ":integer" : Type == typeof(double) ? ":double" : ":string";

        internal bool TryRead(ReadOnlySpan<byte> argument, out object? value)
        {
            value = null;
            if (Type == typeof(string)) value = Encoding.UTF8.GetString(argument);
            else if (Type == typeof(byte[])) value = argument.ToArray();
            else if (Type == typeof(ReadOnlyMemory<byte>)) value = new ReadOnlyMemory<byte>(argument.ToArray());
            else if (Type == typeof(double)) value = double.TryParse(argument, NumberStyles.Float, CultureInfo.InvariantCulture, out double number) && !double.IsNaN(number) ? number : null;
            else if (Type == typeof(bool)) value = argument is [(byte)'1'] ? true : argument is [(byte)'0'] ? false : null;
            else if (RespNumber.TryParseInt64(argument, out long integer)) value = Type == typeof(long) ? integer : integer is >= int.MinValue and <= int.MaxValue ? (int)integer : null;
            return value is not null;
        }
    }
}

/// <summary>The host's commands as a family of the command table.</summary>
internal static class CustomCommands
{
    /// <summary>Binds the host's commands.</summary>
    /// <param name="set">The commands.</param>
    /// <param name="log">Where their failures go.</param>
    /// <param name="taken">Whether a command of a name exists.</param>
    /// <param name="faults">Gets what is wrong with them.</param>
    internal static CommandFamily Bind(RedKiteCommandSet set, ServerLog log, Func<string, bool> taken, List<string> faults)
    {
        var rows = new List<Command>();
        var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (RedKiteCommandSet.Entry entry in set.Entries)
        {
            try
            {
                if (entry.Name.AsSpan().ContainsAny(" \t\r\n|")) faults.Add($"Commands: '{entry.Name}' is no name");
                else if (taken(entry.Name) || !names.Add(entry.Name)) faults.Add($"Commands: there is a command '{entry.Name}' already");
                else if (entry.Options.Category.Length > 0 && AclCategories.Find(Encoding.ASCII.GetBytes(entry.Options.Category)) == AclCategory.None) faults.Add($"Commands: '{entry.Name}' has the unknown category '{entry.Options.Category}'");
                else rows.Add(new CustomCommand(entry, log).Row);
            }
            catch (ArgumentException failure)
            {
                faults.Add($"Commands: {failure.Message}");
            }
        }

        return new CommandFamily("generic", "", [.. rows]);
    }
}
