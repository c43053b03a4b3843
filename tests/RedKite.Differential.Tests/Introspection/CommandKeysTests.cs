using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>COMMAND GETKEYS and GETKEYSANDFLAGS against Redis 8, for random requests of every command.</summary>
public sealed class CommandKeysTests(IntrospectionServers servers) : IClassFixture<IntrospectionServers>
{
    private const int RequestsPerCommand = 60;

    // Numbers that only C's atoi reads ("+1", " 1", 4294967297) are left out: see the last test.
    private static readonly string[] Words =
    [
        "a", "b", "c", "1", "2", "3", "0", "-1", "10", "x", "", "km", "u8", "STORE", "STOREDIST", "store", "BY", "GET", "LIMIT", "COUNT", "BLOCK", "GROUP",
        "STREAMS", "streams", "KEYS", "NX", "XX", "EX", "PERSIST", "SET", "INCRBY", "OVERFLOW", "SAMPLES", "WEIGHTS", "AGGREGATE", "FIELDS", "MAXLEN", "DB",
        "REPLACE", "WITHCOORD", "ASC",
    ];

    [Theory]
    [InlineData("GETKEYS")]
    [InlineData("GETKEYSANDFLAGS")]
    public void Keys_of_every_command_match_redis(string subcommand)
    {
        Assert.SkipWhen(OracleProgram.Redis8TooOld is not null, OracleProgram.Redis8TooOld ?? "");
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        TestContext.Current.SendDiagnosticMessage($"REDKITE_SEED={seed}");
        Random random = new(seed);
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            int found = 0, errors = 0;
            foreach (string name in CommandEntries.Info(subject).Keys.Where(name => !AddedCommands.Contains(name)).Order(StringComparer.Ordinal))
            {
                for (int i = 0; i < StreamTest.Steps(RequestsPerCommand); i++)
                {
                    string[] request = ["COMMAND", subcommand, .. name.Split('|'), .. Enumerable.Range(0, random.Next(9)).Select(_ => Words[random.Next(Words.Length)])];
                    if (name == "sort" && HasDestinationNamedStore(request)) continue;
                    RespValue expected = Run(oracle, request);
                    RespValue actual = Run(subject, request);
                    if (char.IsAsciiLetterUpper(name[0]) && actual.Text == "ERR Invalid number of arguments specified for command") continue; // of vector sets: since Redis 8.6
                    Assert.True(expected.Equals(actual), $"REDKITE_SEED={seed}: {string.Join(' ', request)}\n    {expected} (oracle)\n    {actual}");
                    if (expected.IsError) errors++;
                    else found++;
                }
            }

            // Both outcomes were compared many times.
            Assert.InRange(found, StreamTest.Steps(2000), int.MaxValue);
            Assert.InRange(errors, StreamTest.Steps(2000), int.MaxValue);
        }
    }

    // The unit of GEORADIUS may be the word STORE.
    [Theory]
    [InlineData("GEORADIUS BY FIELDS 1 1 STORE STOREDIST FIELDS BY")]
    [InlineData("GEORADIUS key 1 2 3 STORE a STOREDIST b")]
    [InlineData("GEORADIUS key 1 2 3 STORE a")]
    [InlineData("GEORADIUS key 1 2 3 STOREDIST a b c")]
    [InlineData("GEORADIUS key 1 2 3 STORE STORE")]
    [InlineData("GEORADIUS key 1 2 3 STORE a STORE")]
    [InlineData("GEORADIUS key 1 2 3 STOREDIST STORE a b")]
    [InlineData("GEORADIUSBYMEMBER key m 3 STORE a b c")]
    [InlineData("GEORADIUS key 1 2 3 km STORE STORE b")]
    [InlineData("GEORADIUSBYMEMBER key m 3 km STORE STOREDIST b")]
    public void Keys_of_options_that_store_match_redis(string request)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            foreach (string subcommand in (string[])["GETKEYS", "GETKEYSANDFLAGS"])
                Assert.Equal(oracle.Run($"COMMAND {subcommand} {request}").ToString(), subject.Run($"COMMAND {subcommand} {request}").ToString());
        }
    }

    [Theory]
    [InlineData("nosuch", "ERR Invalid command specified")]
    [InlineData("nosuch a b", "ERR Invalid command specified")]
    [InlineData("CONFIG nosuch a", "ERR Invalid command specified")]
    [InlineData("PING", "ERR The command has no key arguments")]
    [InlineData("CONFIG GET a", "ERR The command has no key arguments")]
    [InlineData("GET", "ERR Invalid number of arguments specified for command")]
    [InlineData("GET a b", "ERR Invalid number of arguments specified for command")]
    [InlineData("MEMORY USAGE", "ERR Invalid number of arguments specified for command")]
    [InlineData("ZUNION 3 a b", "ERR Invalid arguments specified for command")]
    [InlineData("XREAD COUNT 1 STREAMS a", "ERR Invalid arguments specified for command")]
    public void Errors_match_redis(string request, string error)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            foreach (string subcommand in (string[])["GETKEYS", "GETKEYSANDFLAGS"])
            {
                Assert.Equal(error, oracle.Run($"COMMAND {subcommand} {request}").Text);
                Assert.Equal(error, subject.Run($"COMMAND {subcommand} {request}").Text);
            }
        }
    }

    [Theory]
    [InlineData("ZUNION +1 a")]
    [InlineData("ZUNION ' 1' a")]
    [InlineData("SINTERCARD 4294967297 a")]
    public void Number_of_keys_that_the_command_refuses_has_no_keys(string request)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            // Redis finds a key in a request that it would refuse; RedKite does not.
            Assert.True(oracle.Run(request).IsError);
            Assert.Equal("*[$a]", oracle.Run($"COMMAND GETKEYS {request}").ToString());
            Assert.Equal(oracle.Run(request), subject.Run(request));
            subject.Run($"COMMAND GETKEYS {request}").IsError("ERR Invalid arguments specified for command");
        }
    }

    // Redis takes the destination in "SORT k STORE store ALPHA" for the option; RedKite reads the request as SORT does.
    private static bool HasDestinationNamedStore(string[] request) =>
        request.Zip(request.Skip(1)).Any(pair => IsStore(pair.First) && IsStore(pair.Second));

    private static bool IsStore(string word) => word.Equals("STORE", StringComparison.OrdinalIgnoreCase);

    private static RespValue Run(RespConnection connection, string[] request) => connection.Run([.. request.Select(System.Text.Encoding.ASCII.GetBytes)]);
}
