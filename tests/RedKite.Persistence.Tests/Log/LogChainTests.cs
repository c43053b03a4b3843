using System.Text;
using RedKite.Persistence.Log;

namespace RedKite.Persistence.Tests.Log;

public class LogChainTests
{
    [Fact]
    public void Select_precedes_a_record_of_another_database()
    {
        var chain = new LogChain();
        Append(chain, 0, "a");
        Append(chain, 0, "b");
        Append(chain, 12, "c");
        Append(chain, 300, "d");
        Append(chain, 300, "e"); // beyond what is remembered
        Append(chain, 0, "f");
        Assert.Equal(
            Select(0) + "ab" + Select(12) + "c" + Select(300) + "d" + Select(300) + "e" + Select(0) + "f",
            Text(chain, 0, chain.Visible));
    }

    [Fact]
    public void After_the_database_is_forgotten_select_precedes_the_next_record()
    {
        var chain = new LogChain();
        Append(chain, 3, "a");
        long cut = chain.ForgetDatabase();
        Append(chain, 3, "b");
        Assert.Equal(Select(3) + "b", Text(chain, cut, chain.Visible));
    }

    [Fact]
    public void Record_becomes_visible_when_all_before_it_are_complete()
    {
        var chain = new LogChain();
        Append(chain, 0, "x");
        long before = chain.Visible;
        LogAppender first = chain.Begin(5, 0, 0);
        Append(chain, 0, "later");
        Assert.Equal(before, chain.Visible);
        first.Append("first"u8);
        Assert.Equal(before, chain.Visible);
        first.End();
        Assert.Equal("firstlater", Text(chain, before, chain.Visible));
        Assert.Equal(chain.Reserved, chain.Visible);
    }

    [Fact]
    public void Record_of_many_segments_is_whole_and_released_segments_are_reused()
    {
        var chain = new LogChain(position: 1_000_003);
        byte[] record = new byte[3 * LogChain.SegmentBytes];
        for (int round = 0; round < 40; round++)
        {
            new Random(round).NextBytes(record);
            long start = chain.Visible;
            LogAppender appender = chain.Begin(record.Length, 0, 0);
            appender.Append(record.AsSpan(0, 1234));
            appender.Append(record.AsSpan(1234));
            Assert.Equal(chain.Reserved, appender.End());
            byte[] read = Bytes(chain, chain.Visible - record.Length, chain.Visible);
            Assert.True(read.AsSpan().SequenceEqual(record), $"round {round} from {start}");
            chain.Release(chain.Visible);
        }

        Assert.True(chain.MemoryBytes <= 5 * LogChain.SegmentBytes, $"{chain.MemoryBytes} bytes are kept");
    }

    [Theory]
    [InlineData(2)]
    [InlineData(5)]
    public void Records_of_many_threads_are_whole_and_in_the_order_of_each_thread(int threads)
    {
        const int RecordsEach = 20_000;
        var chain = new LogChain();
        var done = new CountdownEvent(threads);
        for (int i = 0; i < threads; i++)
        {
            int number = i;
            new Thread(() =>
        {
            var random = new Random(number);
            for (int record = 0; record < RecordsEach; record++)
            {
                string text = $"<{number} {record} {new string((char)('a' + number), random.Next(40))}>";
                Append(chain, number % 2, text);
            }

            done.Signal();
        }).Start();
        }

        int[] next = new int[threads];
        var rest = new StringBuilder();
        long position = 0;
        while (true)
        {
            bool isLast = done.IsSet;
            long visible = chain.Visible;
            if (visible == position && isLast) break;
            rest.Append(Text(chain, position, visible));
            chain.Release(visible);
            position = visible;
            string text = rest.ToString();
            Assert.True(text.Length == 0 || text[^1] is '>', "a visible position is a boundary between records");
            foreach (string record in text.Split('>', StringSplitOptions.RemoveEmptyEntries))
            {
                string[] parts = record[(record.IndexOf('<', StringComparison.Ordinal) + 1)..].Split(' ');
                int number = int.Parse(parts[0]);
                Assert.Equal(next[number]++, int.Parse(parts[1]));
                Assert.True(parts[2].All(letter => letter == 'a' + number));
            }

            rest.Clear();
        }

        Assert.All(next, count => Assert.Equal(RecordsEach, count));
        Assert.Equal(chain.Reserved, position);
    }

    private static void Append(LogChain chain, int database, string text)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(text);
        LogAppender appender = chain.Begin(bytes.Length, database, database);
        appender.Append(bytes);
        appender.End();
    }

    private static string Select(int database) => $"*2\r\n$6\r\nSELECT\r\n${database.ToString().Length}\r\n{database}\r\n";

    private static string Text(LogChain chain, long start, long end) => Encoding.ASCII.GetString(Bytes(chain, start, end));

    private static byte[] Bytes(LogChain chain, long start, long end)
    {
        var bytes = new List<byte>();
        while (start < end)
        {
            ReadOnlyMemory<byte> piece = chain.Read(start, end - start);
            bytes.AddRange(piece.Span);
            start += piece.Length;
        }

        return [.. bytes];
    }
}
