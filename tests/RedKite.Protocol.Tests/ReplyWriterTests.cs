using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

public class ReplyWriterTests
{
    [Fact]
    public void Simple_types_are_the_same_in_both_protocols()
    {
        foreach (bool resp3 in new[] { false, true })
        {
            Assert.Equal("+OK\r\n", Write(resp3, reply => reply.Ok()));
            Assert.Equal("+PONG\r\n", Write(resp3, reply => reply.SimpleString("PONG"u8)));
            Assert.Equal("-ERR no\r\n", Write(resp3, reply => reply.Error("ERR no"u8)));
            Assert.Equal("$3\r\na\0b\r\n", Write(resp3, reply => reply.Bulk("a\0b"u8)));
            Assert.Equal("$0\r\n\r\n", Write(resp3, reply => reply.Bulk(""u8)));
            Assert.Equal("$2\r\n\u00E9x\r\n", Write(resp3, reply => reply.Bulk("\u00E9x")));
            Assert.Equal("$3\r\n-42\r\n", Write(resp3, reply => reply.BulkInteger(-42)));
            Assert.Equal("*0\r\n*3\r\n", Write(resp3, reply =>
            {
                reply.Array(0);
                reply.Array(3);
            }));
        }
    }

    [Fact]
    public void Short_bulk_strings_have_header_and_line_end()
    {
        var reply = new ReplyWriter();
        var expected = new StringBuilder();
        for (int length = 0; length <= 1_100; length++)
        {
            string text = string.Create(length, 0, static (letters, _) =>
            {
                for (int i = 0; i < letters.Length; i++) letters[i] = (char)('!' + (i % 94));
            });
            expected.Append($"${length}\r\n{text}\r\n");
            reply.Bulk(Encoding.ASCII.GetBytes(text));
        }

        Assert.Equal(expected.ToString(), Encoding.ASCII.GetString(reply.Written));
    }

    [Fact]
    public void Bulk_strings_at_the_end_of_the_buffer_are_whole()
    {
        for (int room = 0; room <= 40; room++)
        {
            var reply = new ReplyWriter();
            int before = (64 * 1024) - room; // in a new writer's buffer
            reply.Raw(new byte[before]);
            reply.Bulk("twenty bytes of text"u8);
            Assert.Equal("$20\r\ntwenty bytes of text\r\n", Encoding.ASCII.GetString(reply.Written[before..]));
        }
    }

    [Fact]
    public void Typed_replies_follow_the_client_protocol()
    {
        AssertForms("$-1\r\n", "_\r\n", reply => reply.Null());
        AssertForms("*-1\r\n", "_\r\n", reply => reply.NullArray());
        AssertForms("*4\r\n", "%2\r\n", reply => reply.Map(2));
        AssertForms("*2\r\n", "~2\r\n", reply => reply.Set(2));
        AssertForms("*2\r\n", ">2\r\n", reply => reply.Push(2));
        AssertForms(":1\r\n", "#t\r\n", reply => reply.Boolean(true));
        AssertForms(":0\r\n", "#f\r\n", reply => reply.Boolean(false));
        AssertForms("$3\r\n1.5\r\n", ",1.5\r\n", reply => reply.Double(1.5));
        AssertForms("$3\r\ninf\r\n", ",inf\r\n", reply => reply.Double(double.PositiveInfinity));
        AssertForms("$4\r\n-inf\r\n", ",-inf\r\n", reply => reply.Double(double.NegativeInfinity));
        AssertForms("$4\r\ntext\r\n", "=8\r\ntxt:text\r\n", reply => reply.Verbatim("txt"u8, "text"u8));
    }

    [Fact]
    public void Integers_are_written_in_decimal()
    {
        foreach (long value in new[] { 0, 1, 9, 10, 42, 99, 100, 101, 999, 1000, 1234567890123, -1, -10, long.MaxValue, long.MinValue })
        {
            Assert.Equal($":{value}\r\n", Write(false, reply => reply.Integer(value)));
        }
    }

    [Fact]
    public void Line_ends_in_an_error_become_blanks_and_its_first_word_is_kept()
    {
        var reply = new ReplyWriter();
        reply.Error("NOSUCH a\r\nb\nc");
        Assert.Equal("-NOSUCH a  b c\r\n", Text(reply));
        Assert.Equal("NOSUCH", reply.LastErrorCode);
        reply.Error("ERR \u00FF");
        Assert.Equal("ERR", reply.LastErrorCode);
        Assert.Equal(2, reply.Errors);
        Assert.Equal(0xFF, reply.Written[^3]);
        reply.Error(new string('X', 30) + " ");
        Assert.Equal(30, reply.LastErrorCode.Length);
        foreach (string text in (string[])["NOSPACE", "", new string('X', 31) + " a"])
        {
            reply.Error(text);
            Assert.Equal("ERR", reply.LastErrorCode);
        }
    }

    [Fact]
    public void Buffer_grows_and_keeps_earlier_replies()
    {
        var random = new Random(5);
        var reply = new ReplyWriter();
        using var expected = new MemoryStream();
        for (int i = 0; i < 5_000; i++)
        {
            byte[] value = new byte[random.Next(10) == 0 ? random.Next(20_000) : random.Next(50)];
            random.NextBytes(value);
            switch (random.Next(4))
            {
                case 0:
                    reply.Integer(value.Length);
                    expected.Write(Encoding.ASCII.GetBytes($":{value.Length}\r\n"));
                    break;
                case 1:
                    reply.Raw(value);
                    expected.Write(value);
                    break;
                case 2:
                    value.CopyTo(reply.BulkSpan(value.Length));
                    expected.Write(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
                    expected.Write(value);
                    expected.Write("\r\n"u8);
                    break;
                default:
                    reply.Bulk(value);
                    expected.Write(Encoding.ASCII.GetBytes($"${value.Length}\r\n"));
                    expected.Write(value);
                    expected.Write("\r\n"u8);
                    break;
            }
        }

        Assert.True(reply.Written.SequenceEqual(expected.ToArray()));
        reply.Clear();
        Assert.Equal(0, reply.Length);
        Assert.False(reply.Overflowed);
    }

    [Fact]
    public void Every_reply_fits_wherever_the_buffer_ends()
    {
        // The writer starts with 64 KiB: each form is written across that end at each offset.
        for (int before = 65_536 - 80; before <= 65_536; before++)
        {
            foreach (Action<ReplyWriter> write in Forms)
            {
                string alone = Write(true, write);
                var reply = new ReplyWriter { Resp3 = true };
                reply.Raw(new byte[before]);
                write(reply);
                Assert.Equal(alone, Encoding.Latin1.GetString(reply.Written[before..]));
            }
        }
    }

    [Fact]
    public void Reply_beyond_the_limit_is_dropped_and_flagged()
    {
        foreach (Action<ReplyWriter> write in Forms.Append(reply => reply.Bulk(new byte[300_000])).Append(reply => reply.BulkSpan(300_000).Clear()))
        {
            var reply = new ReplyWriter { BytesMax = 200_000 };
            while (!reply.Overflowed)
            {
                Assert.InRange(reply.Length, 0, 200_000);
                write(reply);
            }

            write(reply); // is harmless until the owner checks
            Assert.True(reply.Overflowed);
            Assert.InRange(reply.Length, 0, 200_000);
            reply.Clear();
            Assert.False(reply.Overflowed);
            reply.Ok();
            Assert.Equal("+OK\r\n", Text(reply));
        }
    }

    [Fact]
    public void Reply_can_be_rolled_back()
    {
        var reply = new ReplyWriter();
        reply.Ok();
        long length = reply.Length;
        reply.Bulk(new byte[100_000]);
        reply.Truncate(length);
        reply.Integer(7);
        Assert.Equal("+OK\r\n:7\r\n", Text(reply));
    }

    [Fact]
    public void More_bulk_strings_than_can_fit_overflow_at_once()
    {
        var reply = new ReplyWriter { BytesMax = 600 };
        reply.Ok();
        Assert.True(reply.TryBeginRepeating(99));
        Assert.Equal("+OK\r\n"u8, reply.Written);
        Assert.False(reply.TryBeginRepeating(100));
        Assert.True(reply.Overflowed);
        Assert.Equal(0, reply.Length);
    }

    [Fact]
    public void Steady_state_replies_allocate_nothing()
    {
        var reply = new ReplyWriter { Resp3 = true };
        WriteAll(reply);
        long allocated = Allocations.LeastBytes(() =>
        {
            for (int i = 0; i < 100; i++) WriteAll(reply);
        });
        Assert.Equal(0, allocated);
    }

    private static readonly Action<ReplyWriter>[] Forms =
    [
        reply => reply.Ok(),
        reply => reply.SimpleString("a status of some length"u8),
        reply => reply.Error("ERR an error of some length"u8),
        reply => reply.Integer(1234567890123456789),
        reply => reply.Integer(7),
        reply => reply.Bulk("a bulk string"u8),
        reply => reply.Bulk("a bulk string of text"),
        reply => reply.BulkInteger(long.MinValue),
        reply => reply.Null(),
        reply => reply.Map(1),
        reply => reply.Double(1.25e-200),
        reply => reply.Verbatim("txt"u8, "text of some length"u8),
        reply => reply.Raw("+raw\r\n"u8),
    ];

    private static void WriteAll(ReplyWriter reply)
    {
        reply.Clear();
        foreach (Action<ReplyWriter> write in Forms) write(reply);
    }

    private static void AssertForms(string resp2, string resp3, Action<ReplyWriter> write)
    {
        Assert.Equal(resp2, Write(false, write));
        Assert.Equal(resp3, Write(true, write));
    }

    private static string Write(bool resp3, Action<ReplyWriter> write)
    {
        var reply = new ReplyWriter { Resp3 = resp3 };
        write(reply);
        return Text(reply);
    }

    private static string Text(ReplyWriter reply) => Encoding.Latin1.GetString(reply.Written);
}
