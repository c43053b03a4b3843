using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using RedKite.Figures.Types;

namespace RedKite.Figures.Messages;

/// <summary>The rows of the messages scenario.</summary>
internal static class MessageRows
{
    internal const string Channel = "channel";
    internal const string Message = "a message of some 32 bytes in all";

    private const int Keys = 100_000;
    private const int TrackedKeys = 10_000;
    private const int Patterns = 10_000;
    private const int Subscribers = 100;
    private const string TwoCommands = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])";
    private const string Library = "#!lua name=figures\nredis.register_function('two', function(keys, args) redis.call('SET', keys[1], args[1]) return redis.call('GET', keys[1]) end)";

    // A sliding window over a sorted set.
    private const string Limiter = """
        local key, now, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
        redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
        local count = redis.call('ZCARD', key)
        if count < tonumber(ARGV[3]) then
          redis.call('ZADD', key, now, ARGV[1])
          redis.call('PEXPIRE', key, window)
        end
        return redis.call('ZCARD', key)
        """;

    internal static IReadOnlyList<MessageRow> All { get; } =
    [
        new("evalsha-p16", 0.5, (pipe, i) => Key(EvalSha(pipe, TwoCommands, 5), i).Add("value"u8)) { Prepare = pipe => pipe.Run("SCRIPT", "LOAD", TwoCommands) },
        new("fcall-p16", 0.5, (pipe, i) => Key(pipe.Begin(5, "FCALL"u8).Add("two"u8).Add("1"u8), i).Add("value"u8)) { Prepare = pipe => pipe.Run("FUNCTION", "LOAD", "REPLACE", Library) },
        new("limiter-p16", 0.6, WriteLimiter) { Prepare = pipe => pipe.Run("SCRIPT", "LOAD", Limiter) },
        new("multi-p16", 0.6, WriteTransaction),
        new("publish-p1", 0.9, WriteMessage) { Clients = 1, Pipeline = 1, Subscribers = Subscribers },
        new("publish-p16", 0.7, WriteMessage) { Clients = 1, Subscribers = Subscribers },
        new("patterns", 0.1, WriteMessage) { Clients = 1, Open = SubscribeToPatterns },
        new("tracked-get", 0.7, WriteTrackedGet) { Pipeline = 1, Prepare = LoadTracked, Open = Track },
        new("tracked-get-p16", 0.7, WriteTrackedGet) { Prepare = LoadTracked, Open = Track },
    ];

    private static CommandPipe Key(CommandPipe pipe, int number) => pipe.AddNumbered("key:"u8, Varied.Below(Keys, number), 12);

    private static CommandPipe EvalSha(CommandPipe pipe, string script, int arguments) => pipe.Begin(arguments, "EVALSHA"u8).Add(Sha1(script)).Add("1"u8);

#pragma warning disable CA5350 // EVALSHA names scripts by their SHA-1.
    private static string Sha1(string script) => Convert.ToHexStringLower(SHA1.HashData(Encoding.UTF8.GetBytes(script)));
#pragma warning restore CA5350

    // A window has about 20 entries of a key, so every request is admitted and takes all five commands.
    private static void WriteLimiter(CommandPipe pipe, int number) =>
        EvalSha(pipe, Limiter, 7).AddNumbered("limit:"u8, Varied.Below(Keys / 100, number)).AddNumbered([], number).Add("20000"u8).Add("50"u8);

    private static void WriteTransaction(CommandPipe pipe, int number)
    {
        pipe.Begin(1, "MULTI"u8);
        for (int i = 0; i < 4; i++) Key(pipe.Begin(3, "SET"u8), (4 * number) + i).Add("value"u8);
        pipe.Begin(1, "EXEC"u8);
    }

    private static void WriteMessage(CommandPipe pipe, int number) => pipe.Begin(3, "PUBLISH"u8).Add(Channel).Add(Message);

    private static void SubscribeToPatterns(CommandPipe pipe)
    {
        pipe.Run("HELLO", "3");
        for (int i = 0; i < Patterns; i++) pipe.Run("PSUBSCRIBE", string.Create(CultureInfo.InvariantCulture, $"other:{i}:*"));
    }

    private static void LoadTracked(CommandPipe pipe)
    {
        for (int i = 0; i < TrackedKeys; i++) pipe.Begin(3, "SET"u8).AddNumbered("tracked:"u8, i).Add("value"u8);
        pipe.Flush();
    }

    private static void Track(CommandPipe pipe)
    {
        pipe.Run("HELLO", "3");
        pipe.Run("CLIENT", "TRACKING", "ON");
    }

    private static void WriteTrackedGet(CommandPipe pipe, int number) => pipe.Begin(2, "GET"u8).AddNumbered("tracked:"u8, Varied.Below(TrackedKeys, number));
}
