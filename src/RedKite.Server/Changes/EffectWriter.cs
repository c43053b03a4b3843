using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Changes;

/// <summary>
/// The commands that have the same effect as one invocation, for replicas and the log. Unless a handler writes any, the
/// request stands for itself. Requests are in the protocol's form, each with the database that it is for.
/// </summary>
/// <remarks>
/// A handler begins each command with its number of arguments, its name included, and then writes exactly those. While
/// nothing observes the stripes, nothing is recorded and every call returns at once.
/// </remarks>
internal sealed class EffectWriter
{
    /// <summary>Records nothing, ever: for a command that nothing observes.</summary>
    internal static readonly EffectWriter Off = new();

    private readonly List<Effect> _effects = [];
    private byte[] _bytes = new byte[256];
    private int _length;
    private bool _recording;

    /// <summary>Whether the handler replaced the request: by the commands here, or by none.</summary>
    internal bool ReplacesRequest { get; private set; }

    internal int Count => _effects.Count;

    /// <summary>Whether commands are recorded.</summary>
    internal bool IsRecording => _recording;

    internal int DatabaseOf(int index) => _effects[index].Database;

    /// <summary>One command, in the protocol's form.</summary>
    internal ReadOnlySpan<byte> RequestOf(int index)
    {
        int end = index + 1 < _effects.Count ? _effects[index + 1].Start : _length;
        return _bytes.AsSpan(_effects[index].Start, end - _effects[index].Start);
    }

    /// <summary>Begins an invocation.</summary>
    internal void Reset(bool recording)
    {
        _recording = recording;
        if (_effects.Count == 0 && !ReplacesRequest) return;
        _effects.Clear();
        _length = 0;
        ReplacesRequest = false;
    }

    /// <summary>Replaces the request: the commands that follow stand for it, or, if none follows, it has no effect.</summary>
    internal void ReplaceRequest() => ReplacesRequest |= _recording;

    /// <summary>Begins a command.</summary>
    internal EffectWriter Begin(int database, int arguments, ReadOnlySpan<byte> name)
    {
        if (!_recording) return this;
        _effects.Add(new Effect(database, _length));
        Line('*', arguments);
        return Argument(name);
    }

    internal EffectWriter Argument(ReadOnlySpan<byte> value)
    {
        if (!_recording) return this;
        Line('$', value.Length);
        Raw(value);
        Raw("\r\n"u8);
        return this;
    }

    internal EffectWriter Argument(long value)
    {
        if (!_recording) return this;
        Span<byte> digits = stackalloc byte[RespNumber.Int64TextMax];
        return Argument(digits[..RespNumber.Format(value, digits)]);
    }

    internal EffectWriter Argument(string value) => _recording ? Argument(Encoding.Latin1.GetBytes(value)) : this;

    private void Line(char type, int number)
    {
        Span<byte> line = stackalloc byte[RespNumber.Int64TextMax + 3];
        line[0] = (byte)type;
        int length = 1 + RespNumber.Format(number, line[1..]);
        line[length++] = (byte)'\r';
        line[length++] = (byte)'\n';
        Raw(line[..length]);
    }

    private void Raw(ReadOnlySpan<byte> bytes)
    {
        if (_bytes.Length - _length < bytes.Length) Array.Resize(ref _bytes, Math.Max(_bytes.Length * 2, _length + bytes.Length));
        bytes.CopyTo(_bytes.AsSpan(_length));
        _length += bytes.Length;
    }

    private readonly record struct Effect(int Database, int Start);
}
