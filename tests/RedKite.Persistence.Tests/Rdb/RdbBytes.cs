using System.Text;
using RedKite.Persistence.Rdb;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>Builds RDB files by hand from the format's description, of any version.</summary>
internal sealed class RdbBytes : IDisposable
{
    private readonly List<byte> _bytes;
    private readonly RdbOutput _output = new() { Compresses = false };
    private readonly bool _hasSum;

    internal RdbBytes(string magic, bool? hasSum = null)
    {
        _bytes = [.. Encoding.ASCII.GetBytes(magic)];
        _hasSum = hasSum ?? int.Parse(magic[^3..], System.Globalization.CultureInfo.InvariantCulture) >= 5;
    }

    internal RdbBytes Raw(params byte[] bytes)
    {
        _bytes.AddRange(bytes);
        return this;
    }

    internal RdbBytes Length(long length) => Add(output => output.Length(length));

    internal RdbBytes Text(string text) => Text(ValueWorld.Bytes(text));

    internal RdbBytes Text(byte[] text) => Add(output => output.String(text));

    internal RdbBytes Int64(long value) => Raw(BitConverter.GetBytes(value));

    /// <summary>The type and the name of a key; its value follows.</summary>
    internal RdbBytes Key(int type, string name) => Raw((byte)type).Text(name);

    /// <summary>The whole file: with the end and, since version 5, the checksum.</summary>
    internal byte[] End()
    {
        _bytes.Add(255);
        if (_hasSum) Int64((long)Crc64.Append(0, _bytes.ToArray()));
        return [.. _bytes];
    }

    public void Dispose() => _output.Dispose();

    private RdbBytes Add(Action<RdbOutput> write)
    {
        _output.Clear();
        write(_output);
        _bytes.AddRange(_output.Written);
        return this;
    }
}
