using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>CLIENT subcommands that need several connections or send no reply.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class ClientTests(TranscriptServers servers) : TranscriptTests(servers)
{
    [Theory]
    [InlineData("CLIENT REPLY OFF\r\nPING\r\nSET k v\r\nCLIENT REPLY ON\r\nGET k\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nPING\r\nPING x\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nPING 1\r\nPING 2\r\nCLIENT REPLY ON\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nNOSUCH\r\nGET\r\nCLIENT REPLY NOSUCH\r\nCLIENT REPLY ON\r\n")]
    [InlineData("CLIENT REPLY ON\r\nCLIENT REPLY\r\nCLIENT REPLY ON ON\r\nclient reply off\r\nPING\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nRESET\r\nPING\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nHELLO 3\r\nCLIENT REPLY ON\r\nGET none\r\n")]
    [InlineData("CLIENT REPLY OFF\r\n*1\r\nPING\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nQUIT\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nEVAL \"redis.call('SET',KEYS[1],'v') return redis.call('GET',KEYS[1])\" 1 k\r\nCLIENT REPLY ON\r\nGET k\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nEVAL \"return redis.call('APPEND',KEYS[1],redis.call('INCR','n'))\" 1 k\r\nGET k\r\n")]
    [InlineData("MULTI\r\nCLIENT REPLY SKIP\r\nPING\r\nEXEC\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("MULTI\r\nPING\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nEXEC\r\nGET k\r\nPING 2\r\n")]
    [InlineData("MULTI\r\nCLIENT REPLY SKIP\r\nPING\r\nCLIENT REPLY SKIP\r\nEXEC\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("MULTI\r\nPING\r\nCLIENT REPLY OFF\r\nPING 1\r\nEXEC\r\nPING 2\r\nCLIENT REPLY ON\r\nPING 3\r\n")]
    [InlineData("MULTI\r\nCLIENT REPLY OFF\r\nPING 1\r\nCLIENT REPLY ON\r\nPING 2\r\nEXEC\r\nPING 3\r\n")]
    [InlineData("MULTI\r\nPING\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING 1\r\nEXEC\r\nPING 2\r\nPING 3\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nCLIENT REPLY OFF\r\nPING 1\r\nCLIENT REPLY ON\r\nPING 2\r\n")]
    [InlineData("CLIENT REPLY SKIP\r\nMULTI\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nEXEC\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("MULTI\r\nPING\r\nCLIENT REPLY SKIP\r\nEXEC\r\nMULTI\r\nPING\r\nEXEC\r\nPING 2\r\n")]
    [InlineData("MULTI\r\nPING\r\nCLIENT REPLY SKIP\r\nEVAL \"return redis.call('PING')\" 0\r\nEXEC\r\nPING 1\r\nPING 2\r\n")]
    [InlineData("CLIENT REPLY OFF\r\nHELLO 3\r\nCLIENT REPLY ON\r\nDEBUG PROTOCOL push\r\n")]
    public void Replies_can_be_turned_off(string bytes) => Open().Raw(bytes);

    [Fact]
    public void Pfcount_waits_for_the_end_of_a_pause_of_writes()
    {
        PairedConnection admin = Open();
        PairedConnection client = Open();
        client.Run("PFADD k a b").IsInteger(1);
        admin.Run("CLIENT PAUSE 100000 WRITE").IsOk();
        client.Send("PFCOUNT k");
        client.IsSilent();
        admin.Run("CLIENT UNPAUSE").IsOk();
        client.Read().IsInteger(2);
    }

    [Fact]
    public void Pause_write_holds_writes_and_passes_reads()
    {
        PairedConnection admin = Open();
        PairedConnection writer = Open();
        admin.Run("SET k old").IsOk();
        admin.Run("CLIENT PAUSE 100000 WRITE").IsOk();
        writer.Run("GET k").IsBulk("old");
        writer.Send("SET k new");
        writer.IsSilent();
        admin.Run("GET k").IsBulk("old");
        admin.Run("CLIENT UNPAUSE").IsOk();
        writer.Read("SET k new").IsOk();
        admin.Run("GET k").IsBulk("new");
    }

    [Theory]
    [InlineData("EVAL \"#!lua flags=no-writes\nreturn 5\" 0", true)]
    [InlineData("EVAL \"#!lua flags=allow-oom\nreturn 6\" 0", false)]
    [InlineData("EVAL \"return 7\" 0", false)]
    [InlineData("EVALSHA bacb0fa9e0511ae36561f3fbe6a4b9d07a79e1a4 0", true)]
    [InlineData("EVALSHA 9b1cebb67bd31c4d1e652f67e97413f7d4ebf74f 0", false)]
    [InlineData("EVALSHA 59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9 0", false)]
    [InlineData("EVALSHA ffffffffffffffffffffffffffffffffffffffff 0", false)]
    [InlineData("FCALL reads 1 k", true)]
    [InlineData("FCALL reads x", true)]
    [InlineData("FCALL runs 1 k", false)]
    [InlineData("FCALL nosuch 0", false)]
    [InlineData("FCALL_RO reads 1 k", true)]
    public void Pause_of_writes_passes_scripts_that_declare_that_they_write_nothing(string command, bool passes)
    {
        PairedConnection admin = Open();
        PairedConnection client = Open();
        foreach (string script in (string[])["#!lua flags=no-writes\nreturn 5", "#!lua flags=allow-oom\nreturn 6", "return 7"]) admin.Run($"SCRIPT LOAD \"{script}\"");
        admin.Run("FUNCTION LOAD REPLACE \"#!lua name=p\nredis.register_function{function_name='reads',callback=function(k) return redis.call('GET',k[1]) end,flags={'no-writes'}}\nredis.register_function('runs',function(k) return redis.call('GET',k[1]) end)\"");
        admin.Run("CLIENT PAUSE 100000 WRITE").IsOk();
        client.Send(command);
        if (passes) client.Read(command);
        else client.IsSilent();
        admin.Run("CLIENT UNPAUSE").IsOk();
        if (!passes) client.Read(command);
        admin.Run("FUNCTION FLUSH").IsOk();
    }

    [Fact]
    public void Pause_all_holds_reads_and_ends_by_itself()
    {
        PairedConnection admin = Open();
        PairedConnection reader = Open();
        bool silent;
        long start;
        do
        {
            start = Stopwatch.GetTimestamp();
            admin.Run("CLIENT PAUSE 1000").IsOk();
            reader.Send("PING");
            silent = reader.StaysSilent();
            reader.Read("PING").IsSimple("PONG");
        }
        while (!silent && Stopwatch.GetElapsedTime(start) >= TimeSpan.FromSeconds(1)); // nothing was observed within the pause

        Assert.True(silent, "PING was answered during the pause");
    }

    [Fact]
    public void Shorter_pause_does_not_shorten_a_longer_one()
    {
        PairedConnection admin = Open();
        PairedConnection writer = Open();
        admin.Run("CLIENT PAUSE 100000 WRITE").IsOk();
        admin.Run("CLIENT PAUSE 1 WRITE").IsOk();
        Thread.Sleep(20);
        writer.Send("SET k v");
        writer.IsSilent();
        admin.Run("CLIENT UNPAUSE").IsOk();
        writer.Read("SET k v").IsOk();
    }

    [Theory]
    [InlineData("CLIENT PAUSE")]
    [InlineData("CLIENT PAUSE abc")]
    [InlineData("CLIENT PAUSE -1")]
    [InlineData("CLIENT PAUSE 1 NOSUCH")]
    [InlineData("CLIENT PAUSE 1 WRITE x")]
    [InlineData("CLIENT PAUSE 9223372036854775807")]
    [InlineData("CLIENT UNPAUSE x")]
    public void Invalid_pauses_are_refused(string command) => Open().Run(command);

    [Fact]
    public void Kill_by_address_replies_ok_and_closes()
    {
        PairedConnection admin = Open();
        PairedConnection victim = Open();
        admin.Run(victim, facts => $"CLIENT KILL {facts.Address}").IsOk();
        victim.Read().IsClosed();
    }

    [Theory]
    [InlineData("ID {0}")]
    [InlineData("ADDR {1}")]
    [InlineData("ID {0} SKIPME no")]
    [InlineData("ID {0} TYPE normal USER default")]
    [InlineData("id {0} addr {1} skipme YES")]
    public void Kill_by_filters_replies_the_count(string filters)
    {
        PairedConnection admin = Open();
        PairedConnection victim = Open();
        admin.Run(victim, facts => "CLIENT KILL " + string.Format(System.Globalization.CultureInfo.InvariantCulture, filters, facts.Id, facts.Address)).IsInteger(1);
        victim.Read().IsClosed();
        admin.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public void Kill_of_the_caller_replies_before_closing()
    {
        PairedConnection connection = Open();
        connection.Run(connection, facts => $"CLIENT KILL ID {facts.Id}").IsInteger(0);
        connection.Run(connection, facts => $"CLIENT KILL ID {facts.Id} SKIPME no").IsInteger(1);
        connection.Read().IsClosed();
        PairedConnection other = Open();
        other.Run(other, facts => $"CLIENT KILL {facts.Address}").IsOk();
        other.Read().IsClosed();
    }

    [Theory]
    [InlineData("CLIENT KILL")]
    [InlineData("CLIENT KILL nonsense")]
    [InlineData("CLIENT KILL ID")]
    [InlineData("CLIENT KILL ID abc")]
    [InlineData("CLIENT KILL ID 0")]
    [InlineData("CLIENT KILL ID -5")]
    [InlineData("CLIENT KILL TYPE nosuch")]
    [InlineData("CLIENT KILL USER nosuch")]
    [InlineData("CLIENT KILL SKIPME yes")]
    [InlineData("CLIENT KILL SKIPME maybe")]
    [InlineData("CLIENT KILL ADDR 1.2.3.4:5 SKIPME")]
    [InlineData("CLIENT KILL NOSUCH 1")]
    [InlineData("CLIENT KILL ID 999999 ADDR 1.2.3.4:5 LADDR 1.2.3.4:5")]
    public void Kill_without_matches(string command)
    {
        PairedConnection connection = Open();
        connection.Run(command);
        connection.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public void List_shows_each_connection_with_its_state()
    {
        PairedConnection first = Open();
        PairedConnection second = Open();
        first.Run("CLIENT SETNAME first").IsOk();
        second.Run("HELLO 3 SETNAME second");
        second.Run("SELECT 3").IsOk();
        first.Run("CLIENT LIST");
        first.Run(second, facts => $"CLIENT LIST ID {facts.Id}");
        second.Run("CLIENT INFO");
        first.Run("CLIENT LIST TYPE normal");
        first.Run("CLIENT LIST TYPE pubsub").IsBulk("");
        first.Run("CLIENT LIST ID 999999").IsBulk("");
        first.Run("CLIENT NO-EVICT on").IsOk();
        first.Run("CLIENT INFO");
    }

    [Fact]
    public void Reset_clears_connection_state()
    {
        PairedConnection connection = Open();
        connection.Run("HELLO 3 SETNAME name");
        connection.Run("SELECT 5").IsOk();
        connection.Run("SET k v").IsOk();
        connection.Run("CLIENT NO-EVICT on").IsOk();
        connection.Run("RESET").IsSimple("RESET");
        connection.Run("CLIENT GETNAME").IsNull();
        connection.Run("GET k").IsNull();
        connection.Run("CLIENT NO-EVICT off").IsOk();   // RESET does so itself since Redis 7.2
        connection.Run("CLIENT INFO");
    }

    [Theory]
    [InlineData("CLIENT TRACKINGINFO")]
    [InlineData("CLIENT GETREDIR")]
    [InlineData("CLIENT CACHING YES")]
    [InlineData("CLIENT UNBLOCK 999999")]
    [InlineData("CLIENT UNBLOCK 999999 ERROR")]
    [InlineData("CLIENT UNBLOCK abc")]
    [InlineData("CLIENT UNBLOCK 1 NOSUCH")]
    [InlineData("CLIENT NO-EVICT")]
    [InlineData("CLIENT NO-EVICT maybe")]
    [InlineData("CLIENT")]
    [InlineData("CLIENT NOSUCH")]
    [InlineData("CLIENT ID x")]
    [InlineData("CLIENT GETNAME x")]
    [InlineData("CLIENT SETNAME")]
    [InlineData("CLIENT SETNAME \"\"")]
    [InlineData("CLIENT SETNAME \"a b\"")]
    [InlineData("CLIENT SETNAME \"a\\nb\"")]
    [InlineData("CLIENT SETNAME \"\\x7f\"")]
    [InlineData("CLIENT LIST NOSUCH")]
    [InlineData("CLIENT LIST TYPE nosuch")]
    [InlineData("CLIENT LIST ID abc")]
    public void Single_subcommands_in_both_protocols(string command)
    {
        PairedConnection connection = Open();
        connection.Run(command);
        connection.Run("HELLO 3");
        connection.Run(command);
    }

    [Fact]
    public void Library_name_and_no_touch()
    {
        PairedConnection connection = Open();
        connection.Run("CLIENT NO-TOUCH ON").IsOk();
        connection.Run("CLIENT NO-TOUCH off").IsOk();
        connection.Run("CLIENT NO-TOUCH maybe").IsError("ERR syntax error");
        connection.Run("CLIENT SETINFO LIB-NAME kite").IsOk();
        connection.Run("CLIENT SETINFO lib-ver 1.2.3").IsOk();
        connection.Run("CLIENT SETINFO lib-ver \"1 2\"").IsError("ERR lib-ver cannot contain spaces, newlines or special characters.");
        connection.Run("CLIENT SETINFO nosuch x").IsError("ERR Unrecognized option 'nosuch'");
        Assert.Contains(" lib-name=kite lib-ver=1.2.3 ", connection.Run("CLIENT INFO").Text, StringComparison.Ordinal);
        connection.Run("CLIENT KILL MAXAGE 100000").IsInteger(0);
    }

    [Fact]
    public void Touch_notes_the_access_under_no_touch_too()
    {
        RespConnection[] connections = [RespConnection.Connect(Pair.Oracle.Port), RespConnection.Connect(Pair.Subject.Port)];
        foreach (RespConnection connection in connections)
        {
            connection.Run("CLIENT NO-TOUCH ON").IsOk();
            connection.Run("SET untouched v").IsOk();
        }

        Thread.Sleep(4_100);
        foreach (RespConnection connection in connections)
        {
            connection.Run("GET untouched").IsBulk("v");
            Assert.InRange(connection.Run("OBJECT IDLETIME untouched").Number, 3, 60);
            connection.Run("TOUCH untouched").IsInteger(1);
            Assert.InRange(connection.Run("OBJECT IDLETIME untouched").Number, 0, 2);
            connection.Run("DEL untouched").IsInteger(1);
            connection.Dispose();
        }
    }

    // A zero byte ends what is checked and shown, as in C.
    [Fact]
    public void Name_is_checked_up_to_a_zero_byte()
    {
        PairedConnection connection = Open();
        connection.Run("CLIENT SETNAME \"kite\\x00 \\n\"").IsOk();
        connection.Run("CLIENT SETINFO LIB-NAME \"lib\\x00 \\n\"").IsOk();
        connection.Run("CLIENT GETNAME").IsBulk("kite\0 \n");
        string line = connection.Run("CLIENT INFO").Text;
        Assert.Contains(" name=kite ", line, StringComparison.Ordinal);
        Assert.Contains(" lib-name=lib ", line, StringComparison.Ordinal);
        connection.Run("CLIENT SETNAME \"a b\\x00\"").IsError("ERR Client names cannot contain spaces, newlines or special characters.");
    }

    [Fact]
    public void Client_line_has_the_fields_of_Redis_8_in_order()
    {
        using RespConnection connection = RespConnection.Connect(Pair.Subject.Port);
        string names = string.Join(' ', connection.Run("CLIENT INFO").Text.TrimEnd('\n').Split(' ').Select(field => field.Split('=')[0]));
        Assert.Equal(
            "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver io-thread tot-net-in tot-net-out tot-cmds", // the last three of newer versions
            names);
    }
}
