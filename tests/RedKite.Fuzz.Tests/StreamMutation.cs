using System.Text;

namespace RedKite.Fuzz.Tests;

/// <summary>Damages a stream of requests like broken clients and attackers.</summary>
internal static class StreamMutation
{
    private static readonly byte[][] Splices =
    [
        .. new[]
        {
            "\r\n", "\n", "\r", "\0", "$", "*", "*-1\r\n", "*0\r\n", "*1\r\n", "$-1\r\n", "$0\r\n\r\n", "*2147483647\r\n", "*2147483648\r\n",
            "$1048577\r\n", "$1048576\r\n", "$2147483647\r\n", "*99999999999999999999\r\n", "*1\r\n$4\r\nPING\r\n", "\"", "'", "\\x", "\r\n\r\n",
            "POST / HTTP/1.1\r\n", "Host: a\r\n", "PING\r\n", "*3\r\n$3\r\nSET\r\n$1\r\n",
        }.Select(Encoding.Latin1.GetBytes),
    ];

    internal static byte[] Mutate(byte[] stream, Random random)
    {
        List<byte> bytes = [.. stream];
        for (int i = random.Next(1, 6); i > 0 && bytes.Count > 0; i--)
        {
            int at = random.Next(bytes.Count);
            int length = Math.Min(random.Next(1, random.Next(3) == 0 ? 500 : 8), bytes.Count - at);
            switch (random.Next(6))
            {
                case 0: bytes[at] ^= (byte)(1 << random.Next(8)); break;
                case 1: bytes[at] = (byte)random.Next(256); break;
                case 2: bytes.RemoveRange(at, length); break;
                case 3: bytes.InsertRange(at, bytes.GetRange(at, length)); break;
                case 4: bytes.InsertRange(at, Splices[random.Next(Splices.Length)]); break;
                default: bytes.RemoveRange(at, bytes.Count - at); break;
            }
        }

        return [.. bytes];
    }

    internal static byte[] RandomBytes(Random random)
    {
        byte[] bytes = new byte[random.Next(1, 3_000)];
        random.NextBytes(bytes);

        // Half of them are protocol characters, which get further.
        if (random.Next(2) == 0)
        {
            const string Alphabet = "*$\r\n0123456789-PINGSETab \"'\0";
            for (int i = 0; i < bytes.Length; i++) bytes[i] = (byte)Alphabet[bytes[i] % Alphabet.Length];
        }

        return bytes;
    }
}
