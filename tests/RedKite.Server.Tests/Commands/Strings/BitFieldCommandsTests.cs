using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class BitFieldCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("SET u8 0 255 GET u8 0 GET i8 0", "0 255 -1")]
    [InlineData("SET i5 100 -16 GET u5 100 GET i5 100", "0 16 -16")]
    [InlineData("SET u8 #1 7 GET u16 0", "0 7")]
    [InlineData("SET i64 1 -9223372036854775808 GET i64 1 GET u1 1", "0 -9223372036854775808 1")]
    [InlineData("INCRBY u2 0 1 INCRBY u2 0 1 INCRBY u2 0 1 INCRBY u2 0 1", "1 2 3 0")]
    [InlineData("OVERFLOW SAT INCRBY u2 0 9 INCRBY u2 0 -9", "3 0")]
    [InlineData("OVERFLOW FAIL INCRBY u2 0 9 SET u2 0 4 OVERFLOW WRAP INCRBY u2 0 9", "- - 1")]
    [InlineData("OVERFLOW SAT SET i8 0 -129 GET i8 0 SET i8 0 128 GET i8 0", "0 -128 -128 127")]
    [InlineData("OVERFLOW SAT SET u8 0 -1 GET u8 0", "0 255")]
    [InlineData("OVERFLOW SAT INCRBY i64 0 9223372036854775807 INCRBY i64 0 1 SET i64 0 -9223372036854775808 INCRBY i64 0 -1", "9223372036854775807 9223372036854775807 9223372036854775807 -9223372036854775808")]
    [InlineData("INCRBY i64 0 9223372036854775807 INCRBY i64 0 1", "9223372036854775807 -9223372036854775808")]
    public void Operations_reply_in_order(string operations, string replies)
    {
        RespValue reply = _transcript.Run("BITFIELD k " + operations);
        Assert.Equal(replies, string.Join(' ', reply.Items.Select(item => item.IsNull ? "-" : item.Number.ToString(System.Globalization.CultureInfo.InvariantCulture))));
    }

    [Fact]
    public void Reading_creates_nothing_and_writing_extends()
    {
        _transcript.Run("BITFIELD k GET u8 0 GET u8 1000").ToString();
        _transcript.Run("EXISTS k").IsInteger(0);
        Assert.Empty(_transcript.Run("BITFIELD k").Items);
        _transcript.Run("BITFIELD k OVERFLOW FAIL SET u4 100 99").Items[0].IsNull();
        _transcript.Run("STRLEN k").IsInteger(13);
    }

    [Theory]
    [InlineData("GET u64 0", "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")]
    [InlineData("GET i65 0", "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")]
    [InlineData("GET U8 0", "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")]
    [InlineData("SET u8 -1 0", "ERR bit offset is not an integer or out of range")]
    [InlineData("SET u8 ## 0", "ERR bit offset is not an integer or out of range")]
    [InlineData("SET i64 #9223372036854775807 0", "ERR bit offset is not an integer or out of range")]
    [InlineData("SET u4 #4611686018427387904 0", "ERR bit offset is not an integer or out of range")]
    [InlineData("SET u8 0 x", "ERR value is not an integer or out of range")]
    [InlineData("OVERFLOW MAYBE", "ERR Invalid OVERFLOW type specified")]
    [InlineData("OVERFLOW", "ERR syntax error")]
    [InlineData("SET u8 0", "ERR syntax error")]
    [InlineData("SET u8 0 1 NOSUCH", "ERR syntax error")]
    public void Errors_are_reported_before_any_change(string operations, string error)
    {
        _transcript.Run("BITFIELD k SET u8 0 1 " + operations).IsError(error);
        _transcript.Run("EXISTS k").IsInteger(0);
    }

    [Fact]
    public void Read_only_form_refuses_writes()
    {
        _transcript.Run("SET k a").IsOk();
        Assert.Equal(97, _transcript.Run("BITFIELD_RO k GET u8 0").Items[0].Number);
        _transcript.Run("BITFIELD_RO k GET u8 0 SET u8 0 1").IsError("ERR BITFIELD_RO only supports the GET subcommand");
        _transcript.Run("GET k").IsBulk("a");
    }
}
