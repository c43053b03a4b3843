using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// FUNCTION RESTORE of payloads whose bytes are damaged, on both servers: neither ends, both take the same ones, with the same libraries
/// afterwards, and refuse the others with the same error.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class FunctionPayloadTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const int Payloads = 600;

    [Fact]
    public void Damaged_payloads_have_the_same_outcome()
    {
        RespConnection oracle = Pair.Oracle.Control, subject = Pair.Subject.Control;
        foreach (string name in (string[])["a", "b"])
        {
            foreach (RespConnection server in (RespConnection[])[oracle, subject]) server.Run("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), Library(name, "")).IsBulk(name);
        }

        byte[] dump = oracle.Run("FUNCTION DUMP").Payload!;
        int taken = 0, refused = 0;
        for (int seed = 0; seed < Payloads; seed++)
        {
            Random random = new(seed);
            byte[] payload = Damaged(dump, random);
            byte[][] restore = ["FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), payload, Encoding.ASCII.GetBytes(random.Next(3) switch { 0 => "FLUSH", 1 => "APPEND", _ => "REPLACE" })];
            RespValue expected = oracle.Run(restore), reply = subject.Run(restore);
            string shown = string.Create(CultureInfo.InvariantCulture, $"payload {seed}: {CommandLine.Format(payload)}: {expected} and {reply}");
            // Redis reads on into the version and checksum where a library is cut short, and finds fault with what it read there.
            bool isCutShort = expected.IsError && reply.Text == "ERR Failed loading library payload";
            Assert.True(isCutShort || Outcome(expected) == Outcome(reply), shown);
            Assert.True(Libraries(oracle).SequenceEqual(Libraries(subject)), shown);
            if (expected.IsError) refused++;
            else taken++;
        }

        Assert.True(taken > Payloads / 20 && refused > Payloads / 3, $"{taken} taken, {refused} refused");
        foreach (RespConnection server in (RespConnection[])[oracle, subject]) server.Run("FUNCTION FLUSH").IsOk();
    }

    [Fact]
    public void Dumps_have_the_same_bytes_and_are_restored_by_the_other()
    {
        RespConnection oracle = Pair.Oracle.Control, subject = Pair.Subject.Control;
        RespConnection[] servers = [oracle, subject];
        foreach (RespConnection server in servers) server.Run("FUNCTION FLUSH").IsOk();
        Assert.Equal(oracle.Run("FUNCTION DUMP").Payload, subject.Run("FUNCTION DUMP").Payload);

        // Compressed payloads differ: Redis's compression finds other repetitions. What is in them does not.
        var random = new Random(5);
        string noise = new([.. Enumerable.Range(0, 300).Select(_ => (char)random.Next(161, 256))]);
        foreach (string comment in (string[])["", "\n--", $"\n-- {new string('x', 5000)}", $"\n-- {noise}", string.Concat(Enumerable.Range(0, 200).Select(i => $"\nlocal v{i % 100} = {i}"))])
        {
            foreach (RespConnection server in servers) server.Run("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), "REPLACE"u8.ToArray(), Library("a", comment)).IsBulk("a");
            foreach (RespConnection server in servers) server.Run("CONFIG SET rdbcompression no").IsOk();
            Assert.Equal(oracle.Run("FUNCTION DUMP").Payload, subject.Run("FUNCTION DUMP").Payload);
            foreach (RespConnection server in servers) server.Run("CONFIG SET rdbcompression yes").IsOk();
            byte[] ours = subject.Run("FUNCTION DUMP").Payload!, theirs = oracle.Run("FUNCTION DUMP").Payload!;
            Assert.InRange(ours.Length, 0, theirs.Length + 32);
            oracle.Run("FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), ours, "FLUSH"u8.ToArray()).IsOk();
            subject.Run("FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), theirs, "FLUSH"u8.ToArray()).IsOk();
            Assert.Equal(Libraries(oracle), Libraries(subject));
        }

        subject.Run("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), Library("b", "")).IsBulk("b");
        byte[] two = subject.Run("FUNCTION DUMP").Payload!;
        foreach (RespConnection server in servers)
        {
            server.Run("FUNCTION FLUSH").IsOk();
            server.Run("FUNCTION"u8.ToArray(), "RESTORE"u8.ToArray(), two).IsOk();
        }

        Assert.Equal(2, Libraries(subject).Count);
        Assert.Equal(Libraries(oracle), Libraries(subject));
        foreach (RespConnection server in servers)
        {
            server.Run("FCALL fb 0 v").IsBulk("v");
            server.Run("FCALL_RO ga 0").IsInteger(1);
            server.Run("FUNCTION FLUSH").IsOk();
        }
    }

    private static byte[] Library(string name, string comment) => Encoding.Latin1.GetBytes(
        $"#!lua name={name}\nredis.register_function('f{name}', function(keys, args) return args[1] end)\nredis.register_function{{function_name='g{name}', callback=function() return 1 end, flags={{'no-writes'}}}}{comment}");

    // The words for a mistake in the damaged text of a library are the parser's own: only the kind of error is compared then.
    // Of several libraries or functions that exist already Redis names the first of its hash table, whose order is new in each process.
    private static string Outcome(RespValue reply)
    {
        string text = reply.ToString();
        bool isOfText = text.Contains("Error compiling function", StringComparison.Ordinal) || text.Contains("Library name was not given", StringComparison.Ordinal)
            || text.Contains("Engine '", StringComparison.Ordinal) || text.Contains("metadata", StringComparison.Ordinal);
        bool exists = text.StartsWith("-ERR ", StringComparison.Ordinal) && text.EndsWith(" already exists", StringComparison.Ordinal);
        return isOfText ? "an error in the library's text" : exists ? text.Split(' ')[1] + " already exists" : text;
    }

    private static List<string> Libraries(RespConnection server) =>
        [.. server.Run("FUNCTION LIST WITHCODE").Items.Select(library => $"{library.Items[1]} {library.Items[7]} {library.Items[5].Items.Count}").Order(StringComparer.Ordinal)];

    private static byte[] Damaged(byte[] dump, Random random)
    {
        List<byte> value = [.. RedisDumps.ValueOf(dump)];
        for (int damages = random.Next(4); damages > 0 && value.Count > 0; damages--)
        {
            int at = random.Next(value.Count);
            switch (random.Next(5))
            {
                case 0: value[at] = (byte)random.Next(256); break;
                case 1: value.Insert(at, (byte)random.Next(256)); break;
                case 2: value[at] ^= (byte)(1 << random.Next(8)); break;
                case 3: value.RemoveAt(at); break;
                default: value.RemoveRange(at, value.Count - at); break;
            }
        }

        byte[] payload = RedisDumps.Seal(value, dump[^10] | (dump[^9] << 8));
        if (random.Next(5) == 0) payload[^1] ^= 1;
        return payload;
    }
}
