using System.Diagnostics.CodeAnalysis;
using System.Text;
using RedKite.Protocol;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting;

/// <content>What Lua calls: the functions of libraries, redis.call, concatenation, and the handler of messages.</content>
internal sealed partial class LuaInterpreter
{
    /// <summary>Registers a managed function, which the prelude finds by its name ("cjson.encode").</summary>
    internal void Add(string name, LuaFunction function) => _functions.Add((name, function));

    /// <summary>Runs the managed function with a number, for Lua.</summary>
    internal int Dispatch(nint state, int number)
    {
        bool wasLimited = EnterManaged();
        (string name, LuaFunction function) = _functions[number];
        try
        {
            if (!Lua.EnsureStack(state, 20)) return Fail(state, "stack overflow");
            return function(new LuaCall(this, state, name[(name.LastIndexOf('.') + 1)..]));
        }
        catch (LuaException failure)
        {
            int results = Fail(state, failure.Message);
            if (!failure.HasNoPosition) return results;
            Lua.Push(state, true);
            return results + 1;
        }
        catch (Exception failure)
        {
            Stop(failure);
            throw;
        }
        finally
        {
            _allocator.IsLimited = wasLimited;
        }
    }

    /// <summary>redis.call: pushes the reply, and true if it is an error to be raised; nil and true where there is no redis.call.</summary>
    /// <param name="state">Lua's state, with the arguments.</param>
    /// <param name="wantsResult">Whether the script uses a reply that is no error.</param>
    internal int CallCommand(nint state, bool wantsResult)
    {
        if (_registration is not null) return RefuseWhileLoading(state);
        bool wasLimited = EnterManaged();
        try
        {
            if (_interrupt.IsRaised && Tick() is { } ending) return PushError(state, ending);
            int count = Lua.Top(state);
            if (count == 0) return PushError(state, "ERR Please specify at least one argument for this redis lib call");
            if (ReadArguments(state, count) is { } problem) return PushError(state, "ERR " + problem);
            _reply.Clear();
            _reply.BytesMax = BufferBytesMax; // its pieces, their copy in one piece, and the values that Lua gets
            Host.Call(_input, _arguments.AsSpan(0, count), _reply);
            if (_ending is not null) return PushError(state, _ending);
            if (_input.Length > KeptBytesMax) _input = new byte[4096];
            if (_reply.Overflowed)
            {
                _allocator.NoteRefusal();
                return PushError(state, "ERR The command's reply is too large for a script");
            }

            Lua.SetTop(state, 0);
            ReadOnlySpan<byte> written = _reply.Written;
            if (!wantsResult && written[0] != '-')
            {
                if (_reply.IsChained) _reply.Clear();
                return 0;
            }

            if (!Reply.TryPush(state, written, Resp3, out bool isError)) return PushError(state, _allocator.Used > _allocator.BytesMax ? "ERR not enough memory" : "ERR The command's reply is nested too deeply for a script");
            if (_reply.IsChained) _reply.Clear();
            if (!isError) return 1;
            Lua.Push(state, true);
            return 2;
        }
        catch (Exception failure)
        {
            Stop(failure);
            throw;
        }
        finally
        {
            _allocator.IsLimited = wasLimited;
        }
    }

    private static int RefuseWhileLoading(nint state)
    {
        Lua.SetTop(state, 0);
        Lua.PushNil(state);
        Lua.Push(state, true);
        return 2;
    }

    private int FailWithoutMemory(nint state)
    {
        _allocator.NoteRefusal();
        return Fail(state, "not enough memory");
    }

    /// <summary>The concatenation of all arguments; nothing unless they are strings and numbers.</summary>
    internal int Concatenate(nint state)
    {
        bool wasLimited = EnterManaged();
        try
        {
            int count = Lua.Top(state);
            // What is beyond the limit is not built here: the buffer and Lua's string need as much again.
            long bytes = TextBytes(state, count);
            if (bytes < 0) return 0;
            if (bytes > Math.Min((_allocator.BytesMax - _allocator.Used) / 2, Array.MaxLength) && bytes > BufferBytesMin) return FailWithoutMemory(state);
            EnsureText((int)bytes);
            int length = 0;
            for (int i = 1; i <= count; i++)
            {
                if (Lua.TypeOf(state, i) == LuaType.String)
                {
                    ReadOnlySpan<byte> text = Lua.ToSpan(state, i);
                    text.CopyTo(_text.AsSpan(length));
                    length += text.Length;
                }
                else
                {
                    length += FormatNumber(Lua.ToNumber(state, i), _text.AsSpan(length));
                }
            }

            Lua.Push(state, _text.AsSpan(0, length));
            if (_text.Length > KeptBytesMax) _text = new byte[256];
            return 1;
        }
        catch (Exception failure)
        {
            Stop(failure);
            throw;
        }
        finally
        {
            _allocator.IsLimited = wasLimited;
        }
    }

    /// <summary>Notes where an error was raised, without changing the error.</summary>
    internal int HandleMessage(nint state)
    {
        bool wasLimited = EnterManaged();
        try
        {
            Lua.SetTop(state, 1);
            bool isText = Lua.TypeOf(state, 1) == LuaType.String;
            (byte[] source, int line) = ErrorPositions.Find(state, 1, isText ? Lua.ToSpan(state, 1) : default, BufferBytesMax, out byte[]? message);
            if (source.Length > 0) ErrorPosition = (source, line);
            if (isText && message is not null) Lua.Push(state, message);
            return 1;
        }
        catch (Exception failure)
        {
            Stop(failure);
            throw;
        }
        finally
        {
            _allocator.IsLimited = wasLimited;
        }
    }

    /// <summary>Copies a call's arguments to <see cref="Input"/>, or returns what is wrong with them.</summary>
    internal string? ReadArguments(nint state, int count)
    {
        long bytes = TextBytes(state, count);
        if (bytes < 0) return "Lua redis lib command arguments must be strings or integers";
        if (bytes > Math.Min(_allocator.BytesMax - _allocator.Used, Array.MaxLength) && bytes > BufferBytesMin)
        {
            _allocator.NoteRefusal();
            return "The command's arguments are too large for a script";
        }

        if (_input.Length < bytes) _input = new byte[Math.Max(bytes, Math.Min(_input.Length * 2L, KeptBytesMax))];
        if (_arguments.Length < count) _arguments = new ArgumentSlice[Math.Max(count, _arguments.Length * 2)];
        int length = 0;
        for (int i = 1; i <= count; i++)
        {
            int start = length;
            if (Lua.TypeOf(state, i) == LuaType.String)
            {
                ReadOnlySpan<byte> text = Lua.ToSpan(state, i);
                text.CopyTo(_input.AsSpan(length));
                length += text.Length;
            }
            else
            {
                length += FormatArgument(Lua.ToNumber(state, i), _input.AsSpan(length));
            }

            _arguments[i - 1] = new ArgumentSlice(start, length - start);
        }

        return null;
    }

    // Integral numbers are written as such, others in their shortest form.
    private static int FormatNumber(double value, Span<byte> destination)
    {
        // Up to 14 digits, and not the negative zero.
        if (Math.Abs(value) < 1e14 && value == (long)value && !(value == 0 && double.IsNegative(value))) return RespNumber.Format((long)value, destination);
        return Encoding.Latin1.GetBytes(NumberText.Format(value), destination);
    }

    private static int FormatArgument(double value, Span<byte> destination)
    {
        long integer = LuaCall.ToInt64(value);
        if (integer == value && integer != long.MinValue) return RespNumber.Format(integer, destination);
        if (double.IsNaN(value)) return Encoding.Latin1.GetBytes(NumberText.Format(value), destination); // with its sign
        return RespDouble.Format(value, destination);
    }

    private bool EnterManaged()
    {
        bool wasLimited = _allocator.IsLimited;
        _allocator.IsLimited = false;
        return wasLimited;
    }

    // Pushes the marker and the message of an error, which the prelude raises.
    private static int Fail(nint state, string message)
    {
        Lua.SetTop(state, 0);
        Lua.PushLightUserdata(state, Failed);
        Lua.Push(state, Encoding.Latin1.GetBytes(message));
        return 2;
    }

    private static int PushError(nint state, string message)
    {
        Lua.SetTop(state, 0);
        ReplyToLua.PushError(state, Encoding.Latin1.GetBytes(message), isCounted: false);
        Lua.Push(state, true);
        return 2;
    }

    // An exception cannot pass Lua's frames, and the server's state may be half changed: the host reports it, and the process ends.
    [DoesNotReturn]
    private void Stop(Exception failure)
    {
        _host?.Stop(failure);
        Environment.FailFast("RedKite: a function of a script failed.", failure);
    }

    private void EnsureText(int length)
    {
        if (_text.Length < length) Array.Resize(ref _text, Math.Max(length, _text.Length * 2));
    }

    // The most bytes that strings and numbers take as text; -1: there are other values.
    private static long TextBytes(nint state, int count)
    {
        long bytes = 0;
        for (int i = 1; i <= count; i++)
        {
            LuaType type = Lua.TypeOf(state, i);
            if (type is not (LuaType.String or LuaType.Number)) return -1;
            bytes += type == LuaType.String ? Lua.RawLength(state, i) : NumberBytesMax;
        }

        return bytes;
    }
}
